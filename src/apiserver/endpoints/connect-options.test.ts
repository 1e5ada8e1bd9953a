// Conversion of connect requests to option objects and back.

import { expect, test } from 'vitest';

import { newDefaultScheme } from '#api/default-scheme.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import { rawRequest } from '../testing/requests.ts';
import type { ApiRequest } from '../request.ts';
import { parseRequestInfo } from '../filters/request-info.ts';
import { connectOptions, requestWithOptions } from './connect-options.ts';

const scheme = newDefaultScheme();
const codecOf = (kind: string): ObjectCodec => scheme.codecOf({ group: '', version: 'v1', kind })!;

function requestTo(path: string): ApiRequest {
  const request = rawRequest({ path });
  request.info = parseRequestInfo(request);
  return request;
}

const changed = (kind: string, path: string, options: object): ApiRequest => {
  const request = requestTo(path);
  return requestWithOptions(codecOf(kind), request, {
    ...connectOptions(codecOf(kind), request),
    ...options,
  });
};

const EXEC = '/api/v1/namespaces/default/pods/p/exec?command=ls&command=-l&stdin=true&other=x';
const PROXY = '/api/v1/namespaces/default/pods/p/proxy/a%20b/c?x=y';

test('options are read from the query', () => {
  expect(connectOptions(codecOf('PodExecOptions'), requestTo(EXEC))).toEqual({
    kind: 'PodExecOptions',
    apiVersion: 'v1',
    command: ['ls', '-l'],
    stdin: true,
  });
  expect(connectOptions(codecOf('PodProxyOptions'), requestTo(PROXY))).toMatchObject({
    path: '/a b/c',
  });
});

test('changed options become the query; other parameters stay', () => {
  const request = changed('PodExecOptions', EXEC, {
    command: ['id'],
    stdin: undefined,
    tty: true,
    container: 'c&d',
  });
  expect([...request.query].toSorted()).toEqual([
    ['command', 'id'],
    ['container', 'c&d'],
    ['other', 'x'],
    ['tty', 'true'],
  ]);
  expect([request.path, request.info.name]).toEqual([
    '/api/v1/namespaces/default/pods/p/exec',
    'p',
  ]);
});

test('the path behind a proxy may change, but not leave the proxy', () => {
  const same = changed('PodProxyOptions', PROXY, {});
  expect([same.path, [...same.query]]).toEqual([
    '/api/v1/namespaces/default/pods/p/proxy/a%20b/c',
    [['x', 'y']],
  ]);
  const other = changed('PodProxyOptions', PROXY, { path: '/d e/f' });
  expect([other.path, other.info.parts]).toEqual([
    '/api/v1/namespaces/default/pods/p/proxy/d%20e/f',
    ['d e', 'f'],
  ]);
  expect(() => changed('PodProxyOptions', PROXY, { path: '/../../secrets' })).toThrow(
    'invalid path "/../../secrets"',
  );
});
