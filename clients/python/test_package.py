"""The packages as a user gets them: python3 -m unittest, in this folder. No network is needed."""
import filecmp
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

import backend


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def test_built_twice_they_have_the_same_bytes(self):
        for name in ("a", "b"):
            os.mkdir(os.path.join(self.dir, name))
            for build in (backend.build_wheel, backend.build_sdist):
                file = build(os.path.join(self.dir, name))
        _, different, missing = filecmp.cmpfiles(os.path.join(self.dir, "a"), os.path.join(self.dir, "b"),
                                                 os.listdir(os.path.join(self.dir, "a")), shallow=False)
        self.assertEqual((different, missing), ([], []), file)

    def test_the_types_name_all_that_the_code_has(self):
        space = {}
        exec(compile(backend.code(), "bellhop.py", "exec"), space)
        stub = backend.stub(backend.code())
        compile(stub, "bellhop.pyi", "exec")
        for name, what in space.items():
            if callable(what) and not name.startswith("_") and getattr(what, "__module__", "") == space.get("__name__"):
                self.assertRegex(stub, r"(?m)^(def|class) %s\b" % name)
        for name in ("submit", "wait", "watch", "cancel", "retry", "work"):
            self.assertRegex(stub, r"(?m)^def %s\(" % name)
        for name in ("cancel", "retry"):  # they give the job's new state
            self.assertRegex(stub, r"(?m)^def %s\(.*\) -> str:" % name)

    def pip(self, *args):
        return subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *args],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def test_pip_installs_the_wheel_and_the_sdist_without_a_network(self):
        if self.pip("--version").returncode != 0:
            self.skipTest("SKIPPED LOUDLY: this Python has no pip")
        for build in (backend.build_wheel, backend.build_sdist):
            file = os.path.join(self.dir, build(self.dir))
            there = os.path.join(self.dir, build.__name__)
            said = self.pip("install", "--no-index", "--no-deps", "--root-user-action=ignore", "--target", there, file)
            self.assertEqual(said.returncode, 0, said.stdout)
            out = subprocess.run([sys.executable, "-c", "import bellhop; print(bellhop.__file__, bellhop.submit.__name__)"],
                                 env=dict(os.environ, PYTHONPATH=there), cwd=self.dir, capture_output=True, text=True)
            self.assertEqual(out.stdout.split(), [os.path.join(there, "bellhop", "__init__.py"), "submit"], out.stderr)
            self.assertTrue(os.path.exists(os.path.join(there, "bellhop", "py.typed")))

    def test_the_wheel_needs_psycopg_alone(self):
        with zipfile.ZipFile(os.path.join(self.dir, backend.build_wheel(self.dir))) as z:
            info = next(name for name in z.namelist() if name.endswith("METADATA"))
            needs = [line for line in z.read(info).decode().splitlines() if line.startswith("Requires-Dist")]
        self.assertEqual(needs, ["Requires-Dist: psycopg>=3.1"])


if __name__ == "__main__":
    unittest.main()
