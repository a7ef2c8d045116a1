// What a browser adds to a page that works without it: it stays current, and has keys. One policy makes HTML of what the
// site itself has rendered; nothing else may (Content-Security-Policy: trusted-types).
'use strict';
(() => {
  const $ = (id) => document.getElementById(id);
  const policy = window.trustedTypes ? trustedTypes.createPolicy('bellhop', { createHTML: (s) => s }) : { createHTML: (s) => s };
  const main = $('main'), root = document.body.dataset.root; // before each path of this site
  // What an element is known by: a section has the id of its heading. A form's own .id may be a field of that name.
  const id = (e) => e.nodeType === 1 && (e.getAttribute('id') || e.getAttribute('aria-labelledby'));
  const still = (e) => e.nodeType === 1 && e.dataset.still && e.contains(document.activeElement);

  // morph makes a like b, and leaves alone what is the same: focus, marks, what is open, where one has scrolled to.
  function morph(a, b) {
    if (still(a)) return;
    if (b.dataset && b.dataset.from) { // of a log only the rows since the last picture are sent
      while (id(a.firstChild) !== b.dataset.from) a.firstChild.remove();
      a.append(...b.childNodes);
      return;
    }
    for (const { name } of [...a.attributes]) if (!b.hasAttribute(name) && name !== 'open') a.removeAttribute(name);
    for (const { name, value } of b.attributes) if (a.getAttribute(name) !== value && name !== 'open') a.setAttribute(name, value);
    if (id(a) === 'at' || a.tagName === 'INPUT' || a.tagName === 'SELECT') return;
    const known = new Map();
    for (const c of a.children) if (id(c)) known.set(id(c), c);
    let at = a.firstChild;
    for (const want of [...b.childNodes]) {
      let have = id(want) && known.get(id(want));
      if (have && have !== at) a.insertBefore(have, at);
      if (!have && at && at.nodeType === want.nodeType && at.nodeName === want.nodeName && !(id(at) && id(at) !== id(want))) have = at;
      if (!have) { a.insertBefore(want, at); continue; }
      at = have.nextSibling;
      if (have.nodeType === 1) morph(have, want);
      else if (have.nodeValue !== want.nodeValue) have.nodeValue = want.nodeValue;
    }
    while (at) { const next = at.nextSibling; if (!(at.nodeType === 1 && still(at))) a.removeChild(at); at = next; }
  }

  // The stream: closed while nobody sees the page.
  let stream = null, seen = Date.now(), wait = 1000;
  const dot = (name, says) => { $('live').className = 'dot ' + name; $('live').title = says; };
  const address = () => {
    const u = new URL(location.href);
    u.searchParams.delete('did'); u.searchParams.delete('n');
    return (u.pathname.slice(root.length) || '/') + u.search;
  };
  function show(html) {
    const page = new DOMParser().parseFromString(policy.createHTML('<main id="main" tabindex="-1">' + html + '</main>'), 'text/html');
    const tail = page.querySelector('[data-from]'); // a log without the rows that this page has
    if (tail && !($(tail.id) && $(tail.id).contains($(tail.dataset.from)))) { close(); open(); return; } // it has not: all comes anew
    const row = document.querySelector('tr.at'), id = row && row.id;
    morph(main, page.getElementById('main'));
    tell(main);
    if (id && $(id)) $(id).classList.add('at');
  }

  // Times stand in UTC, and in the zone of this browser where that was chosen.
  const zone = $('zone'), two = (n) => String(n).padStart(2, '0');
  let local = false;
  try { local = localStorage.zone === 'local'; } catch { zone.disabled = true; } // no storage: no choice
  const clock = (d) => two(d.getHours()) + ':' + two(d.getMinutes()) + ':' + two(d.getSeconds());
  function tell(within) {
    if (!local) return;
    for (const t of within.querySelectorAll('time[datetime]')) {
      const d = new Date(t.dateTime), day = d.getFullYear() + '-' + two(d.getMonth() + 1) + '-' + two(d.getDate());
      if (t.title) t.title = day + ' ' + clock(d);
      if (t.className === 'stamp') t.textContent = day + ' ' + clock(d);
      if (t.className === 'ms') t.textContent = clock(d) + '.' + String(d.getMilliseconds()).padStart(3, '0');
      if (t.className === 'clock') t.textContent = t.textContent.length > 8 ? day + ' ' + clock(d).slice(0, 5) : clock(d);
    }
    for (const t of within.querySelectorAll('svg title, .hm')) t.textContent = t.textContent.replace(/\b([01]\d|2[0-3]):([0-5]\d)\b/g, (all, h, m) => {
      const d = new Date();
      d.setUTCHours(h, m, 0, 0);
      return clock(d).slice(0, 5);
    });
  }
  zone.textContent = local ? 'local' : 'UTC';
  if (local) zone.title = 'All times are in the zone of this browser. Show UTC.';
  zone.hidden = false;
  zone.addEventListener('click', () => { localStorage.zone = local ? 'utc' : 'local'; location.reload(); });
  tell(document);

  // The colours are the system's, or those that were chosen here.
  const theme = $('theme'), themes = ['system', 'light', 'dark'];
  let painted = 0;
  function paint(name) {
    painted = Math.max(0, themes.indexOf(name));
    theme.textContent = 'colours: ' + themes[painted];
    if (painted) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
  }
  try { paint(localStorage.theme); } catch { theme.disabled = true; } // no storage: no choice
  theme.parentElement.hidden = false;
  theme.addEventListener('click', () => {
    localStorage.theme = themes[(painted + 1) % themes.length];
    paint(localStorage.theme);
  });

  function fresh() { seen = Date.now(); wait = 1000; dot('on', 'live'); $('away').hidden = true; }
  function open() {
    if (stream || document.hidden || !document.body.dataset.live) return;
    stream = new EventSource(root + '/live?at=' + encodeURIComponent(address()));
    stream.addEventListener('main', (e) => { show(e.data); fresh(); });
    stream.addEventListener('same', fresh);
    stream.addEventListener('away', (e) => { dot('off', 'no database'); $('away').textContent = e.data; $('away').hidden = false; });
    stream.addEventListener('reload', () => location.reload());
    stream.onerror = () => {
      dot('off', 'the instance does not answer');
      $('away').textContent = 'The instance does not answer. This page asks again by itself; what it shows is from ' + $('at').title + '.';
      $('away').hidden = false;
      close(); setTimeout(open, wait); wait = Math.min(wait * 2, 30000);
    };
  }
  function close() { if (stream) { stream.close(); stream = null; } }
  document.addEventListener('visibilitychange', () => { if (document.hidden) { close(); dot('', 'not live'); } else open(); });
  $('at').title = $('at').textContent;
  if (document.body.dataset.live) setInterval(() => {
    if (document.hidden) return;
    const s = (Date.now() - seen) / 1000;
    $('at').textContent = s < 1.5 ? 'now' : Math.round(s) + ' s ago';
    $('at').title = new Date(seen).toLocaleTimeString();
  }, 500);
  if (/[?&]did=/.test(location.search)) history.replaceState(null, '', root + address());
  open();

  const now = document.querySelector('nav a[aria-current]'); // on a narrow window it may be out of sight
  if (now) now.parentElement.scrollLeft = now.offsetLeft - now.parentElement.offsetLeft - 60;

  // A large graph is shown from the job on that matters.
  for (const box of document.querySelectorAll('.graph .scroll')) {
    const of = box.querySelector('g.failed, g.quarantined, g.this');
    if (!of) continue;
    const a = of.getBoundingClientRect(), b = box.getBoundingClientRect();
    box.scrollLeft += a.left - b.left - (b.width - a.width) / 2;
    box.scrollTop += a.top - b.top - (b.height - a.height) / 2;
  }

  // A click on a command copies it; a button copies the text of its section.
  if (navigator.clipboard) {
    document.body.classList.add('copies');
    main.addEventListener('click', (e) => {
      const copy = e.target.closest('button.copy'), from = copy || e.target.closest('code');
      if (!from || !copy && (!getSelection().isCollapsed || e.target.closest('a, button, summary'))) return;
      const text = copy ? [...copy.closest('section').querySelectorAll('pre')].map((p) => p.textContent).join('\n') : from.textContent.trim();
      navigator.clipboard.writeText(text).then(() => {
        from.classList.add('copied');
        setTimeout(() => from.classList.remove('copied'), 1200);
      }, () => {});
    });
  }

  // Keys.
  let going = false; // g was pressed: the next key, whenever it comes, names a page
  const rows = () => [...main.querySelectorAll('tr[data-href]')];
  function go(by) {
    const list = rows(), now = list.findIndex((r) => r.classList.contains('at'));
    const next = list[Math.max(0, Math.min(list.length - 1, now < 0 ? (by > 0 ? 0 : list.length - 1) : now + by))];
    if (!next) return;
    list.forEach((r) => r.classList.toggle('at', r === next));
    const link = next.querySelector('a');
    if (link) link.focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
  }
  document.addEventListener('keydown', (e) => {
    const t = e.target;
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === 'Escape' && t.closest('input, select')) { t.blur(); return; }
    if (t.closest('input:not([type=checkbox]), select, textarea')) return;
    const row = main.querySelector('tr.at');
    if (going) {
      going = false;
      const link = [...document.querySelectorAll('nav a')].find((a) => a.dataset.key === e.key);
      if (link) { e.preventDefault(); location.href = link.href; return; }
    }
    switch (e.key) {
      case 'g': going = true; break;
      case '/': { const f = main.querySelector('[data-find]') || $('find'); e.preventDefault(); f.focus(); f.select(); break; }
      case '?': e.preventDefault(); $('keys').open ? $('keys').close() : $('keys').showModal(); break;
      case 'j': case 'k': e.preventDefault(); go(e.key === 'j' ? 1 : -1); break;
      case 'x': { const box = row && row.querySelector('input[type=checkbox]'); if (box) { e.preventDefault(); box.checked = !box.checked; } break; }
      case 'Enter': if (row && !t.closest('a, button, input, summary')) location.href = row.dataset.href; break;
    }
  });
})();
