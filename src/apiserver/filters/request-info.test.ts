import { describe, expect, test } from 'vitest';

import { isLongRunning, parseRequestInfo } from './request-info.ts';

function info(method: string, target: string) {
  const [path = '', query = ''] = target.split('?');
  return parseRequestInfo({ method, path, query: new URLSearchParams(query) });
}

describe('parseRequestInfo', () => {
  test.each([
    ['GET', '/api/v1/namespaces', 'list', '', 'namespaces', '', '', ''],
    ['GET', '/api/v1/namespaces/x', 'get', '', 'namespaces', '', 'x', 'x'],
    ['PUT', '/api/v1/namespaces/x/finalize', 'update', '', 'namespaces', 'finalize', 'x', 'x'],
    ['GET', '/api/v1/namespaces/x/status', 'get', '', 'namespaces', 'status', 'x', 'x'],
    ['GET', '/api/v1/namespaces/x/pods', 'list', '', 'pods', '', '', 'x'],
    ['GET', '/api/v1/namespaces/x/pods?watch=true', 'watch', '', 'pods', '', '', 'x'],
    ['GET', '/api/v1/namespaces/x/pods?watch', 'watch', '', 'pods', '', '', 'x'],
    ['GET', '/api/v1/namespaces/x/pods?watch=false', 'list', '', 'pods', '', '', 'x'],
    ['GET', '/api/v1/namespaces/x/pods?watch=False', 'list', '', 'pods', '', '', 'x'],
    ['GET', '/api/v1/namespaces/x/pods?watch=0', 'list', '', 'pods', '', '', 'x'],
    ['GET', '/api/v1/namespaces/x/pods?watch=True', 'watch', '', 'pods', '', '', 'x'],
    ['GET', '/api/v1/namespaces/x/pods?watch', 'watch', '', 'pods', '', '', 'x'],
    ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dp', 'list', '', 'pods', '', 'p', ''],
    ['GET', '/api/v1/watch/namespaces/x/pods', 'watch', '', 'pods', '', '', 'x'],
    ['POST', '/api/v1/namespaces/x/pods', 'create', '', 'pods', '', '', 'x'],
    ['DELETE', '/api/v1/namespaces/x/pods', 'deletecollection', '', 'pods', '', '', 'x'],
    ['DELETE', '/api/v1/namespaces/x/pods/p', 'delete', '', 'pods', '', 'p', 'x'],
    ['PATCH', '/api/v1/namespaces/x/pods/p/status', 'patch', '', 'pods', 'status', 'p', 'x'],
    ['POST', '/api/v1/namespaces/x/pods/p/exec', 'create', '', 'pods', 'exec', 'p', 'x'],
    ['GET', '/api/v1/nodes/n/proxy/a/b', 'get', '', 'nodes', 'proxy', 'n', ''],
    [
      'HEAD',
      '/apis/apps/v1/namespaces/x/replicasets/r',
      'get',
      'apps',
      'replicasets',
      '',
      'r',
      'x',
    ],
  ])('%s %s', (method, target, verb, apiGroup, resource, subresource, name, namespace) => {
    expect(info(method, target)).toMatchObject({
      isResourceRequest: true,
      verb,
      apiGroup,
      resource,
      subresource,
      name,
      namespace,
    });
  });

  test.each([
    ['/api/v1/namespaces', false, '', ''],
    ['/api/v1/namespaces/x', false, 'x', ''],
    ['/api/v1/namespaces/x/status', false, 'x', ''],
    ['/api/v1/namespaces/x/namespaces/x', true, 'x', ''],
    ['/api/v1/namespaces/x/pods', true, '', ''],
    ['/api/v1/watch/namespaces/x/pods/pods', true, 'pods', 'watch'],
    ['/api/v1/pods?fieldSelector=metadata.name%3Dp', false, '', ''],
  ])('the form of %s', (target, inNamespace, pathName, pathVerb) => {
    expect(info('GET', target)).toMatchObject({ inNamespace, pathName, pathVerb });
  });

  test('the name in a selector counts only for lists and watches', () => {
    expect(
      info('DELETE', '/api/v1/namespaces/x/pods?fieldSelector=metadata.name%3Dp'),
    ).toMatchObject({ name: '' });
    expect(
      info('GET', '/api/v1/watch/namespaces/x/pods?fieldSelector=metadata.name%3Dp'),
    ).toMatchObject({ name: '' });
  });

  test('keeps the path after a subresource', () => {
    expect(info('GET', '/api/v1/nodes/n/proxy/a%20b/c').parts).toEqual(['a b', 'c']);
  });

  test.each([
    '/',
    '/api',
    '/api/v1',
    '/apis',
    '/apis/apps',
    '/apis/apps/v1',
    '/healthz',
    '/version',
    '/foo/bar/baz/qux',
  ])('%s is not a resource', (path) => {
    expect(info('GET', path)).toMatchObject({ isResourceRequest: false, verb: 'get', path });
  });

  test('recognizes long-running requests', () => {
    expect(isLongRunning(info('GET', '/api/v1/pods?watch=1'))).toBe(true);
    expect(isLongRunning(info('GET', '/api/v1/namespaces/x/pods/p/log'))).toBe(true);
    expect(isLongRunning(info('POST', '/api/v1/namespaces/x/pods/p/exec'))).toBe(true);
    expect(isLongRunning(info('GET', '/api/v1/pods'))).toBe(false);
  });
});
