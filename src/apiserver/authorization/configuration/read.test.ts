// AuthorizationConfigurations, valid and not. The messages are upstream's.

import { expect, test } from 'vitest';

import { readAuthorizationConfiguration } from './read.ts';

const files = { kubeconfigProblem: () => undefined };

const WEBHOOK = {
  timeout: '3s',
  subjectAccessReviewVersion: 'v1',
  matchConditionSubjectAccessReviewVersion: 'v1',
  failurePolicy: 'Deny',
  connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: '/etc/hook.kubeconfig' },
};

function fileWith(...authorizers: readonly object[]): string {
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthorizationConfiguration',
    authorizers,
  });
}

const withWebhook = (webhook: object): string =>
  fileWith({ type: 'Webhook', name: 'hook', webhook: { ...WEBHOOK, ...webhook } });

test('a file with every kind of authorizer', () => {
  const text = `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: first.example.com
  webhook:
    unauthorizedTTL: 10s
    cacheAuthorizedRequests: false
    timeout: 1500ms
    subjectAccessReviewVersion: v1beta1
    matchConditionSubjectAccessReviewVersion: v1
    failurePolicy: NoOpinion
    connectionInfo: { type: KubeConfigFile, kubeConfigFile: /etc/first }
    matchConditions:
    - expression: request.user != 'admin'
- { type: Node, name: node }
- { type: RBAC, name: rbac }
- { type: AlwaysDeny, name: alwaysdeny }
`;
  expect(readAuthorizationConfiguration(text, files)).toEqual([
    {
      type: 'Webhook',
      name: 'first.example.com',
      kubeConfigFile: '/etc/first',
      timeoutMs: 1500,
      failurePolicy: 'NoOpinion',
      reviewVersion: 'v1beta1',
      authorizedTtlMs: 0,
      unauthorizedTtlMs: 10_000,
      matchConditions: ["request.user != 'admin'"],
    },
    { type: 'Node' },
    { type: 'RBAC' },
    { type: 'AlwaysDeny' },
  ]);
  expect(readAuthorizationConfiguration(withWebhook({}), files)).toMatchObject([
    { authorizedTtlMs: 300_000, unauthorizedTtlMs: 30_000, matchConditions: [] },
  ]);
});

const NOT_LOADED = 'failed to load AuthorizationConfiguration from file: ';

test.each([
  ['', 'authorizers: Required value: at least one authorization mode must be defined'],
  [fileWith(), 'authorizers: Required value: at least one authorization mode must be defined'],
  ['{}', `${NOT_LOADED}Object 'Kind' is missing in '{}'`],
  [
    'kind: AuthorizationConfiguration',
    `${NOT_LOADED}Object 'apiVersion' is missing in 'kind: AuthorizationConfiguration'`,
  ],
  [
    '{"kind":"AuthorizationConfiguration","apiVersion":"apiserver.config.k8s.io/v2"}',
    `${NOT_LOADED}no kind "AuthorizationConfiguration" is registered for version "apiserver.config.k8s.io/v2"`,
  ],
  [
    fileWith({ type: 'RBAC', name: 'rbac', level: 3 }),
    `${NOT_LOADED}strict decoding error: unknown field "authorizers[0].level"`,
  ],
  [
    withWebhook({ timeout: 3 }),
    `${NOT_LOADED}json: cannot unmarshal number into Go value of type string`,
  ],
  [fileWith({ name: 'x' }), 'authorizers[0].type: Required value'],
  [
    fileWith({ type: 'Magic', name: 'magic' }),
    'authorizers[0].type: Unsupported value: "Magic": ' +
      'supported values: "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"',
  ],
  [
    fileWith({ type: 'RBAC', name: 'rbac' }, { type: 'RBAC', name: 'rbac2' }),
    'authorizers[1].type: Duplicate value: "RBAC"',
  ],
  [fileWith({ type: 'RBAC' }), 'authorizers[0].name: Required value'],
  [
    fileWith({ type: 'RBAC', name: 'x' }, { type: 'Node', name: 'x' }),
    'authorizers[1].name: Duplicate value: "x"',
  ],
  [
    fileWith({ type: 'RBAC', name: 'mine' }),
    'expected name rbac for authorizer RBAC instead of mine',
  ],
  [
    fileWith({ type: 'RBAC', name: 'rbac', webhook: WEBHOOK }),
    'authorizers[0].webhook: Invalid value: "non-null": may only be specified when type=Webhook',
  ],
  [
    fileWith({ type: 'Webhook', name: 'x' }),
    'authorizers[0].webhook: Required value: required when type=Webhook',
  ],
  [withWebhook({ timeout: '0s' }), 'authorizers[0].timeout: Required value'],
  [
    withWebhook({ timeout: '31s' }),
    'authorizers[0].timeout: Invalid value: "31s": must be > 0s and <= 30s',
  ],
  [
    withWebhook({ authorizedTTL: '-1m', unauthorizedTTL: '-1s' }),
    '[authorizers[0].authorizedTTL: Invalid value: "-1m0s": must be > 0s, ' +
      'authorizers[0].unauthorizedTTL: Invalid value: "-1s": must be > 0s]',
  ],
  [
    withWebhook({ subjectAccessReviewVersion: 'v2' }),
    'authorizers[0].subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"',
  ],
  [
    withWebhook({
      matchConditionSubjectAccessReviewVersion: '',
      matchConditions: [{ expression: 'true' }],
    }),
    'authorizers[0].matchConditionSubjectAccessReviewVersion: ' +
      'Required value: required if match conditions are specified',
  ],
  [withWebhook({ failurePolicy: '' }), 'authorizers[0].failurePolicy: Required value'],
  [
    withWebhook({ failurePolicy: 'Allow' }),
    'authorizers[0].failurePolicy: Unsupported value: "Allow": supported values: "NoOpinion", "Deny"',
  ],
  [withWebhook({ connectionInfo: {} }), 'authorizers[0].connectionInfo.type: Required value'],
  [
    withWebhook({ connectionInfo: { type: 'KubeConfigFile' } }),
    'authorizers[0].connectionInfo.kubeConfigFile: Required value',
  ],
  [
    withWebhook({
      matchConditions: [{ expression: '' }, { expression: '1' }, { expression: '1' }],
    }),
    '[authorizers[0].matchConditions[0].expression: Required value, ' +
      'authorizers[0].matchConditions[1].expression: Invalid value: "1": must evaluate to bool but got int, ' +
      'authorizers[0].matchConditions[2].expression: Duplicate value: "1"]',
  ],
  [
    withWebhook({ matchConditions: [{ expression: 'request.users' }] }),
    'authorizers[0].matchConditions[0].expression: Invalid value: "request.users": compilation failed: ' +
      "ERROR: <input>:1:8: undefined field 'users'\n | request.users\n | .......^",
  ],
  [
    withWebhook({
      matchConditions: Array.from({ length: 65 }, (_, i) => ({ expression: `${i} > 1` })),
    }),
    'authorizers[0].matchConditions: Too many: 65: must have at most 64 items',
  ],
])('%s', (text, message) => {
  expect(() => readAuthorizationConfiguration(text, files)).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', message }),
  );
});

test('a kubeconfig that cannot be one, and types that must stay', () => {
  const without = { kubeconfigProblem: () => 'must be a regular file' };
  expect(() => readAuthorizationConfiguration(withWebhook({}), without)).toThrow(
    'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/etc/hook.kubeconfig": must be a regular file',
  );
  const text = fileWith({ type: 'AlwaysAllow', name: 'alwaysallow' });
  expect(() => readAuthorizationConfiguration(text, files, ['RBAC', 'Node'])).toThrow(
    'missing required types: [Node RBAC]',
  );
});
