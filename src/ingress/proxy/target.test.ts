import { expect, test } from 'vitest';
import type { PathMatch } from '../model.ts';
import { changePath, parseTarget, redirectLocation, splitAbsolute } from './target.ts';

const prefix = (value: string): PathMatch => ({ type: 'PathPrefix', value });

test.each([
  ['/', '/', ''],
  ['/a?b=c?d', '/a', '?b=c?d'],
  ['/a/./b/../c', '/a/c', ''],
  ['/../../a', '/a', ''],
  ['/a/..', '/', ''],
  ['/a/%2e%2E/b/.', '/b/', ''],
  ['/a/..b/.c/d..', '/a/..b/.c/d..', ''],
  ['//a//b', '//a//b', ''],
])('the target %s', (text, path, search) => {
  expect(parseTarget(text)).toEqual({ path, search });
});

test.each(['a', '*', '', 'a/b', '/a#b'])('%j is no target', (text) => {
  expect(parseTarget(text)).toBeUndefined();
});

test('targets in absolute form', () => {
  expect(splitAbsolute('http://a.example:80/b?c')).toEqual({
    authority: 'a.example:80',
    rest: '/b?c',
  });
  expect(splitAbsolute('HTTPS://a.example?c')).toEqual({ authority: 'a.example', rest: '/?c' });
  expect(splitAbsolute('ftp://a.example/')).toBeUndefined();
});

test.each([
  ['/foo/bar', prefix('/foo'), '/xyz', '/xyz/bar'],
  ['/foo/bar', prefix('/foo'), '/xyz/', '/xyz/bar'],
  ['/foo/bar', prefix('/foo/'), '/xyz', '/xyz/bar'],
  ['/foo/bar', prefix('/foo/'), '/xyz/', '/xyz/bar'],
  ['/foo', prefix('/foo'), '/xyz', '/xyz'],
  ['/foo/', prefix('/foo'), '/xyz', '/xyz/'],
  ['/foo/bar', prefix('/foo'), '', '/bar'],
  ['/foo/', prefix('/foo'), '', '/'],
  ['/foo', prefix('/foo'), '', '/'],
  ['/foo/', prefix('/foo'), '/', '/'],
  ['/foo', prefix('/foo'), '/', '/'],
  ['/bar', prefix('/'), '/foo', '/foo/bar'],
])('%s with the prefix replaced by %j', (path, match, value, expected) => {
  expect(changePath(path, { type: 'ReplacePrefixMatch', value }, match)).toBe(expected);
});

test('a path that is replaced as a whole', () => {
  expect(changePath('/a/b', { type: 'ReplaceFullPath', value: '/c' }, prefix('/a'))).toBe('/c');
});

test.each([
  [{ status: 302 }, 'http://a.example/p?q'],
  [{ status: 302, scheme: 'https' }, 'https://a.example/p?q'],
  [{ status: 302, scheme: 'http' }, 'http://a.example/p?q'],
  [{ status: 302, port: 8443, scheme: 'https' }, 'https://a.example:8443/p?q'],
  [{ status: 302, hostname: 'b.example' }, 'http://b.example/p?q'],
])('a redirect %j at port 80 leads to %s', (redirect, location) => {
  const request = {
    scheme: 'http',
    host: 'a.example',
    port: 80,
    target: { path: '/p', search: '?q' },
  };
  expect(redirectLocation(redirect, request, prefix('/'))).toBe(location);
});

test('a redirect at another port keeps it, unless the scheme changes', () => {
  const request = {
    scheme: 'http',
    host: 'a.example',
    port: 8080,
    target: { path: '/', search: '' },
  };
  expect(redirectLocation({ status: 302 }, request, prefix('/'))).toBe('http://a.example:8080/');
  expect(redirectLocation({ status: 302, scheme: 'https' }, request, prefix('/'))).toBe(
    'https://a.example/',
  );
});
