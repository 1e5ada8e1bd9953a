import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { serveSystemLogs } from './system-logs.ts';

let dir: string;
let url: string;
let close: () => void;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'cox-logs-'));
  const root = join(dir, 'log');
  mkdirSync(join(root, 'pods'), { recursive: true });
  writeFileSync(join(dir, 'secret'), 'secret');
  writeFileSync(join(root, 'syslog'), 'one\ntwo\n');
  writeFileSync(join(root, 'a&b?.log'), '');
  writeFileSync(join(root, 'javascript:alert(1)'), '');
  writeFileSync(join(root, 'pods', 'one'), 'pod');
  symlinkSync('pods/one', join(root, 'inside'));
  symlinkSync('../secret', join(root, 'outside'));
  const server = createServer((request, response) => {
    const path = (request.url ?? '').slice('/logs/'.length);
    serveSystemLogs(root, path, request.method === 'HEAD', response).catch((error: unknown) =>
      response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/logs/`;
  close = () => server.close();
});
afterEach(() => {
  close();
  rmSync(dir, { recursive: true });
});

const get = async (path: string, method = 'GET'): Promise<[number, string]> => {
  const response = await fetch(`${url}${path}`, { method, redirect: 'manual' });
  return [response.status, await response.text()];
};

test('files and lists are served', async () => {
  expect(await get('syslog')).toEqual([200, 'one\ntwo\n']);
  expect(await get('pods/one')).toEqual([200, 'pod']);
  expect(await get('syslog', 'HEAD')).toEqual([200, '']);
  expect(await get('a&b%3F.log')).toEqual([200, '']);
  const [status, list] = await get('');
  expect(status).toBe(200);
  expect(list).toContain('<a href="a&amp;b%3F.log">a&amp;b?.log</a>\n<a href="inside">');
  expect(list).toContain('<a href="pods/">pods/</a>');
  expect(list).toContain('<a href="./javascript:alert(1)">');
  expect((await fetch(`${url}pods`, { redirect: 'manual' })).headers.get('location')).toBe('pods/');
  expect((await get('pods/'))[1]).toContain('<a href="one">one</a>');
});

test('nothing outside of the directory is served', async () => {
  for (const path of [
    'outside',
    'inside',
    '..%2fsecret',
    '%2e%2e/secret',
    'pods/..%2f..%2fsecret',
    'missing',
    'syslog/x',
    '%00',
    '%zz',
  ])
    expect([path, (await get(path))[0]]).toEqual([path, 404]);
});
