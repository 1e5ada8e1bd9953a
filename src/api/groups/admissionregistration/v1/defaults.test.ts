import { expect, test } from 'vitest';

import { variation } from '#api/testing/variation.ts';
import type * as admission from './types.ts';

const rule = { operations: ['CREATE'], apiGroups: ['a'], apiVersions: ['v1'], resources: ['b'] };
const hook = {
  name: 'a.b.c',
  clientConfig: { service: { name: 's', namespace: 'n' } },
  rules: [rule],
};
const FILLED = {
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  timeoutSeconds: 10,
  clientConfig: { service: { name: 's', namespace: 'n', port: 443 } },
  rules: [{ ...rule, scope: '*' }],
};

test('of webhooks', () => {
  const validating = variation<admission.ValidatingWebhookConfiguration>(
    'admissionregistration/v1.ValidatingWebhookConfiguration',
    { webhooks: [hook] },
  );
  const [first] = validating().webhooks ?? [];
  expect(first).toMatchObject(FILLED);
  expect(first).not.toHaveProperty('reinvocationPolicy');
  const mutating = variation<admission.MutatingWebhookConfiguration>(
    'admissionregistration/v1.MutatingWebhookConfiguration',
    {
      webhooks: [hook],
    },
  );
  expect(mutating().webhooks).toMatchObject([{ ...FILLED, reinvocationPolicy: 'Never' }]);
  const said = {
    ...hook,
    failurePolicy: 'Ignore',
    matchPolicy: 'Exact',
    reinvocationPolicy: 'IfNeeded',
    timeoutSeconds: 3,
    rules: [{ ...rule, scope: 'Cluster' }],
    clientConfig: { service: { name: 's', namespace: 'n', port: 8443 } },
    objectSelector: { matchLabels: { a: 'b' } },
  };
  expect(mutating({ webhooks: [said] }).webhooks).toMatchObject([said]);
});

test('of policies and bindings', () => {
  const match = { resourceRules: [rule], excludeResourceRules: [rule] };
  const filled = {
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    resourceRules: [{ scope: '*' }],
    excludeResourceRules: [{ scope: '*' }],
  };
  const spec = { matchConstraints: match };
  const validating = variation<admission.ValidatingAdmissionPolicy>(
    'admissionregistration/v1.ValidatingAdmissionPolicy',
    {
      spec,
    },
  );
  expect(validating().spec).toMatchObject({ failurePolicy: 'Fail', matchConstraints: filled });
  const mutating = variation<admission.MutatingAdmissionPolicy>(
    'admissionregistration/v1.MutatingAdmissionPolicy',
    {
      spec,
    },
  );
  expect(mutating().spec).toMatchObject({ failurePolicy: 'Fail', matchConstraints: filled });
  expect(validating({ spec: { failurePolicy: 'Ignore', matchConstraints: null } }).spec).toEqual({
    failurePolicy: 'Ignore',
  });
  for (const kind of [
    'ValidatingAdmissionPolicyBinding',
    'MutatingAdmissionPolicyBinding',
  ] as const) {
    const binding = variation<admission.ValidatingAdmissionPolicyBinding>(
      `admissionregistration/v1.${kind}`,
      {
        spec: { policyName: 'a', matchResources: match },
      },
    );
    expect(binding().spec.matchResources).toMatchObject(filled);
    expect(binding({ spec: { matchResources: null } }).spec).not.toHaveProperty('matchResources');
  }
});
