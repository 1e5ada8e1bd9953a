import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConsoleServer, FILES, startConsoleServer } from '../testing/console-server.ts';

let running: ConsoleServer;

beforeEach(async () => (running = await startConsoleServer()));
afterEach(async () => running.stop());

/** A browser's first request has no header of the console. */
const OPENED = { 'x-coxswain-console': undefined, origin: undefined, 'sec-fetch-site': 'none' };

test('the page forbids everything from elsewhere, with a new nonce each time', async () => {
  const nonces = new Set<string>();
  for (const path of ['/console/', '/console/index.html', '/console/?x=1']) {
    const { code, headers, text } = await running.page('GET', path, { headers: OPENED });
    expect(code).toBe(200);
    const policy = String(headers['content-security-policy']);
    const [, nonce = ''] = /'nonce-([^']+)'/.exec(policy) ?? [];
    nonces.add(nonce);
    expect(text).toContain(`nonce="${nonce}"`);
    expect(policy).toContain("default-src 'none'; script-src 'self'; connect-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'text/html; charset=utf-8',
      'cross-origin-opener-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
  }
  expect(nonces.size).toBe(3);
  const short = await running.page('GET', '/console', { headers: OPENED });
  expect([short.code, short.headers['location']]).toEqual([308, '/console/']);
});

test('files with a hash in their name are kept for ever, compressed as the client accepts', async () => {
  const path = '/console/app-ABCDEF12.js';
  const content = FILES['app-ABCDEF12.js']!;
  const plain = await running.page('GET', path, { headers: OPENED });
  expect(plain.text).toBe(content);
  expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8');
  const accepting = (encoding: string): ReturnType<ConsoleServer['page']> =>
    running.page('GET', path, { headers: { ...OPENED, 'accept-encoding': encoding } });
  const br = await accepting('gzip, deflate, br');
  expect(br.headers['content-encoding']).toBe('br');
  expect(brotliDecompressSync(br.bytes).toString()).toBe(content);
  const gzip = await accepting('gzip, br;q=0');
  expect(gzip.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(gzip.bytes).toString()).toBe(content);
  const again = await running.page('GET', '/console/robots.txt', { headers: OPENED });
  expect(again.headers['cache-control']).toBe('no-cache');
  const unchanged = await running.page('GET', '/console/robots.txt', {
    headers: { ...OPENED, 'if-none-match': String(again.headers['etag']) },
  });
  expect([unchanged.code, unchanged.text]).toEqual([304, '']);
});

test.each([
  '/console/../../../etc/passwd.txt',
  '/console/%2e%2e/%2e%2e/etc/passwd.txt',
  '/console/..%2f..%2fetc%2fpasswd.txt',
  '/console//etc/passwd.txt',
  '/console/\\..\\secret.txt',
  '/console/robots.txt/',
  '/console/robots.txt%00.js',
  '/console/secret.pem',
  '/console/__proto__',
  '/console/pods/default/web',
])('no other file than those of the application: %s', async (path) => {
  const answer = await running.page('GET', path, { headers: OPENED });
  expect(answer.text).not.toMatch(/root:|served type|User-agent/);
  expect(answer.code).toBe(404);
});

test('other methods are rejected, and other paths of the server stay as they are', async () => {
  expect((await running.page('POST', '/console/', { headers: OPENED })).code).toBe(405);
  expect((await running.page('GET', '/consoles', { headers: OPENED })).code).toBe(401);
  expect((await running.page('GET', '/console/api/features', { headers: OPENED })).code).toBe(401);
});

test('a build without a console says so', async () => {
  await running.stop();
  running = await startConsoleServer({ folder: '/does/not/exist' });
  const answer = await running.page('GET', '/console/', { headers: OPENED });
  expect([answer.code, answer.text]).toEqual([404, 'the console is not part of this build\n']);
});
