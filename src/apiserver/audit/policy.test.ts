import { describe, expect, test } from 'vitest';
import type { Attributes } from '../authorization/authorizer.ts';
import { evaluator } from './policy.ts';
import { readAuditPolicy } from './read-policy.ts';

const read = (rules: string) =>
  readAuditPolicy(`apiVersion: audit.k8s.io/v1\nkind: Policy\n${rules}`);

const request = (changes: Partial<Attributes> = {}): Attributes => ({
  user: { name: 'ann', groups: ['devs', 'system:authenticated'] },
  isResourceRequest: true,
  path: '/api/v1/namespaces/team/pods/web-0/log',
  verb: 'get',
  apiGroup: '',
  apiVersion: 'v1',
  namespace: 'team',
  resource: 'pods',
  subresource: 'log',
  name: 'web-0',
  ...changes,
});
const path: Partial<Attributes> = {
  isResourceRequest: false,
  path: '/metrics/cadvisor',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
};

describe('rules', () => {
  const cases: [string, boolean, Partial<Attributes>][] = [
    ['{}', true, {}],
    ['{users: [ann]}', true, {}],
    ['{users: [bob]}', false, {}],
    ['{userGroups: [ops, devs]}', true, {}],
    ['{userGroups: [ops]}', false, {}],
    ['{verbs: [get]}', true, {}],
    ['{verbs: [list]}', false, {}],
    ['{namespaces: [team]}', true, {}],
    ['{namespaces: ["other"]}', false, {}],
    ['{namespaces: [""]}', true, { namespace: '', resource: 'nodes', subresource: '' }],
    ['{resources: [{group: ""}]}', true, {}],
    ['{resources: [{group: apps}]}', false, {}],
    ['{resources: [{group: "*", resources: [pods/log]}]}', true, {}],
    ['{resources: [{group: "", resources: [pods]}]}', false, {}],
    ['{resources: [{group: "", resources: [pods]}]}', true, { subresource: '' }],
    ['{resources: [{group: "", resources: ["pods/*"]}]}', true, {}],
    ['{resources: [{group: "", resources: ["pods/*"]}]}', true, { subresource: '' }],
    ['{resources: [{group: "", resources: ["*/log"]}]}', true, {}],
    ['{resources: [{group: "", resources: ["*/scale"]}]}', false, {}],
    ['{resources: [{group: "", resources: ["*"], resourceNames: [web-0]}]}', true, {}],
    ['{resources: [{group: "", resources: ["*"], resourceNames: [web-1]}]}', false, {}],
    ['{resources: [{group: ""}]}', false, path],
    ['{nonResourceURLs: ["/metrics*"]}', true, path],
    ['{nonResourceURLs: ["/metrics"]}', false, path],
    ['{nonResourceURLs: ["*"]}', true, path],
    ['{nonResourceURLs: ["*"]}', false, {}],
  ];
  test.each(cases)('%s matches: %s %j', (rule, matches, changes) => {
    const { policy } = read(
      `rules: [${rule.replace('{', '{level: Metadata, ').replace(', }', '}')}]`,
    );
    expect(evaluator(policy)(request(changes)).level).toBe(matches ? 'Metadata' : 'None');
  });

  test('the first rule that matches decides, with the stages of the policy and its own', () => {
    const { policy } = read(`
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: None, users: [bob]}
- {level: Request, omitStages: [Panic], omitManagedFields: false}
- {level: RequestResponse}`);
    expect(evaluator(policy)(request())).toEqual({
      level: 'Request',
      omitStages: new Set(['RequestReceived', 'Panic']),
      omitManagedFields: false,
    });
    const bob = { name: 'bob', groups: [] };
    expect(evaluator(policy)(request({ user: bob })).level).toBe('None');
  });
});

describe('a policy file is rejected with', () => {
  test.each([
    ['rules: []', 'loaded illegal policy with 0 rules'],
    ['rules: [{}]', 'rules[0].level: Required value'],
    [
      'rules: [{level: All}]',
      'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"',
    ],
    [
      'rules: [{level: None, omitStages: [Never]}]',
      '"Never": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
    ],
    [
      'rules: [{level: None, nonResourceURLs: [metrics]}]',
      `"metrics": non-resource URL rules must begin with a '/' character`,
    ],
    [
      'rules: [{level: None, nonResourceURLs: ["/a*b"]}]',
      `"/a*b": non-resource URL wildcards '*' must be the final character of the rule`,
    ],
    [
      'rules: [{level: None, nonResourceURLs: ["/a"], namespaces: [x]}]',
      '["/a"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
    [
      'rules: [{level: None, resources: [{group: "", resourceNames: [a]}]}]',
      'rules[0].resources.resourceNames: Invalid value: ["a"]: using resourceNames requires at least one resource',
    ],
    [
      'rules: [{level: None, users: ann}]',
      'failed decoding: json: cannot unmarshal string into Go struct field PolicyRule.rules.users of type []string',
    ],
    [
      'rules: [7]',
      'failed decoding: json: cannot unmarshal number into Go struct field Policy.rules of type v1.PolicyRule',
    ],
  ])('%s: %s', (rules, message) => {
    expect(() => read(rules)).toThrow(message);
  });

  test('another kind, or no object', () => {
    expect(() => readAuditPolicy('{apiVersion: v1, kind: Pod}')).toThrow(
      'failed decoding: no kind "Pod" is registered for version "v1"',
    );
    expect(() => readAuditPolicy('')).toThrow("failed decoding: Object 'Kind' is missing in ''");
    expect(() => readAuditPolicy('[7]')).toThrow("failed decoding: couldn't get version/kind");
  });

  test('unknown fields are ignored, and named', () => {
    expect(read('rules: [{level: None, verb: [get]}]\nrule: 1').unknownFields).toEqual([
      'rules[0].verb',
      'rule',
    ]);
  });
});
