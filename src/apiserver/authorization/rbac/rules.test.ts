import { describe, expect, test } from 'vitest';

import { can, canGet } from '../policy/words.ts';
import { allows, uncovered } from './rules.ts';

const ask = (verb: string, resource: string, more: { apiGroup?: string; name?: string } = {}) => {
  const [plural = '', subresource = ''] = resource.split('/');
  return {
    isResourceRequest: true,
    path: '',
    verb,
    apiGroup: more.apiGroup ?? '',
    apiVersion: 'v1',
    namespace: 'x',
    resource: plural,
    subresource,
    name: more.name ?? '',
  };
};
const askPath = (path: string, verb = 'get') => ({
  ...ask(verb, ''),
  isResourceRequest: false,
  path,
});

describe('a rule', () => {
  test.each([
    [can('get list', '', 'pods'), ask('get', 'pods'), true],
    [can('get list', '', 'pods'), ask('watch', 'pods'), false],
    [can('get', '', 'pods'), ask('get', 'pods', { apiGroup: 'apps' }), false],
    [can('get', '', 'pods'), ask('get', 'pods/log'), false],
    [can('get', '', 'pods/log'), ask('get', 'pods/log'), true],
    [can('get', '', '*/log'), ask('get', 'pods/log'), true],
    [can('get', '', '*/log'), ask('get', 'pods'), false],
    [can('get', '', '*'), ask('get', 'pods/log'), true],
    [can('*', '*', '*'), ask('anything', 'at/all', { apiGroup: 'example.com' }), true],
    [can('get', '', 'pods', 'a b'), ask('get', 'pods', { name: 'b' }), true],
    [can('get', '', 'pods', 'a b'), ask('get', 'pods', { name: 'c' }), false],
    // The name of a new object is not part of the request, so rules with names do not allow it.
    [can('create', '', 'pods', 'a'), ask('create', 'pods'), false],
    [can('*', '*', '*'), askPath('/metrics'), false],
    [canGet('/healthz /healthz/*'), askPath('/healthz/etcd'), true],
    [canGet('/healthz'), askPath('/healthz/etcd'), false],
    [canGet('/healthz'), askPath('/healthz', 'post'), false],
    [{ verbs: ['*'], nonResourceURLs: ['*'] }, askPath('/anything', 'put'), true],
  ])('%j and %j: %j', (rule, attributes, expected) => {
    expect(allows(rule, attributes)).toBe(expected);
  });
});

describe('rules that cover others', () => {
  test.each([
    [[can('get list', '', 'pods')], [can('get', '', 'pods')], 0],
    [[can('get', '', 'pods'), can('list', '', 'pods')], [can('get list', '', 'pods')], 0],
    [[can('get', '', 'pods')], [can('get list', '', 'pods services')], 3],
    [[can('*', '*', '*')], [can('get list', ['', 'apps'], 'pods pods/log')], 0],
    // All present verbs and groups together do not cover '*'.
    [
      [can('create delete deletecollection get list patch update watch', '', 'pods')],
      [can('*', '', 'pods')],
      1,
    ],
    [[can('get', '', 'pods')], [can('get', '*', 'pods')], 1],
    [[can('get', '', '*/scale')], [can('get', '', 'deployments/scale')], 0],
    [[can('get', '', 'pods', 'a b')], [can('get', '', 'pods', 'a')], 0],
    [[can('get', '', 'pods', 'a')], [can('get', '', 'pods')], 1],
    [[can('get', '', 'pods')], [can('get', '', 'pods', 'a b')], 0],
    [[canGet('/healthz/*')], [canGet('/healthz/etcd /healthz/*')], 0],
    [[canGet('/healthz')], [canGet('/healthz /livez')], 1],
    [[can('*', '*', '*')], [canGet('/metrics')], 1],
  ])('%j %j: all but %i', (held, wanted, count) => {
    expect(uncovered(held, wanted)).toHaveLength(count);
  });
});
