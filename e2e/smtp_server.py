# A server of mail for tests: real SMTP, by aiosmtpd. Each message becomes a line of JSON in FOLDER/mail; while FOLDER/hold is there,
# the answer to it is kept back. usage: smtp_server.py FOLDER [CERTIFICATE KEY]; with a certificate it wants STARTTLS and a password.
import asyncio, email, email.policy, json, os, signal, ssl, sys
from aiosmtpd.smtp import SMTP, AuthResult

folder = sys.argv[1]


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody"):
            return "550 5.1.1 there is no such mailbox"
        if address.startswith("later") and not os.path.exists(folder + "/awake"):
            return "451 4.3.0 not now"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        m = email.message_from_bytes(envelope.content, policy=email.policy.default)
        line = json.dumps({"id": m["Message-ID"], "from": m["From"], "to": envelope.rcpt_tos, "subject": m["Subject"],
                           "text": m.get_content(), "tls": session.ssl is not None, "login": session.authenticated})
        with open(folder + "/mail", "a") as f:
            f.write(line + "\n")
        while os.path.exists(folder + "/hold"):
            await asyncio.sleep(0.02)
        return "250 OK"


def password(server, session, envelope, mechanism, given):
    return AuthResult(success=given.login == b"bell" and given.password == b"hop")


async def main():
    options = {}
    if len(sys.argv) > 2:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(sys.argv[2], sys.argv[3])
        options = {"tls_context": tls, "require_starttls": True, "authenticator": password, "auth_required": True}
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(Handler(), **options), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
