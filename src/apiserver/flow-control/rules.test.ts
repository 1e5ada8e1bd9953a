import { describe, expect, test } from 'vitest';

import { parseRequestInfo } from '../filters/request-info.ts';
import { rawRequest } from '../testing/requests.ts';
import { matchesRequest, matchesSubjects, type PolicyRules } from './rules.ts';

const info = (method: string, path: string) => parseRequestInfo(rawRequest({ method, path }));

describe('subjects', () => {
  const account = { name: 'system:serviceaccount:kube-system:a', groups: ['g'] };

  test.each([
    [{ kind: 'User', user: { name: '*' } }, true],
    [{ kind: 'User', user: { name: 'other' } }, false],
    [{ kind: 'Group', group: { name: 'g' } }, true],
    [{ kind: 'Group', group: { name: '*' } }, true],
    [{ kind: 'Group', group: { name: 'h' } }, false],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'kube-system', name: '*' } }, true],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'kube-system', name: 'a' } }, true],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'kube-system', name: 'b' } }, false],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'kube', name: '*' } }, false],
    [{ kind: 'User' }, false],
    [{ kind: 'Other' }, false],
  ])('%j matches: %s', (subject, expected) => {
    expect(matchesSubjects([subject], account)).toBe(expected);
  });
});

describe('resource rules', () => {
  const rules = (more: object): PolicyRules => ({
    subjects: [],
    resourceRules: [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], ...more },
    ],
  });

  test.each([
    [{}, 'GET', '/api/v1/namespaces/a/pods', true],
    [{}, 'GET', '/api/v1/pods', false],
    [{ clusterScope: true }, 'GET', '/api/v1/pods', true],
    [{ namespaces: ['b'] }, 'GET', '/api/v1/namespaces/a/pods', false],
    [{ verbs: ['list'] }, 'GET', '/api/v1/namespaces/a/pods', true],
    [{ verbs: ['list'] }, 'GET', '/api/v1/namespaces/a/pods?watch=1', false],
    [{ resources: ['pods'] }, 'GET', '/api/v1/namespaces/a/pods/p/log', false],
    [{ resources: ['pods/log'] }, 'GET', '/api/v1/namespaces/a/pods/p/log', true],
    [{ apiGroups: ['apps'] }, 'GET', '/api/v1/namespaces/a/pods', false],
    [{ apiGroups: [''] }, 'GET', '/api/v1/namespaces/a/pods', true],
    // '*' is no pattern beside other values.
    [{ verbs: ['*', 'get'] }, 'POST', '/api/v1/namespaces/a/pods', false],
    [{ clusterScope: true }, 'GET', '/version', false],
  ])('%j matches %s %s: %s', (more, method, path, expected) => {
    expect(matchesRequest(rules(more), info(method, path))).toBe(expected);
  });
});

test.each([
  ['*', '/version', true],
  ['/healthz', '/healthz', true],
  ['/healthz', '/healthz/etcd', true],
  ['/healthz', '/healthzz', false],
  ['/apis/*', '/apis/apps', true],
  ['/apis/*', '/api', false],
])('the path rule %s covers %s: %s', (url, path, expected) => {
  const rules = { subjects: [], nonResourceRules: [{ verbs: ['get'], nonResourceURLs: [url] }] };
  expect(matchesRequest(rules, info('GET', path))).toBe(expected);
  expect(matchesRequest(rules, info('POST', path))).toBe(false);
});
