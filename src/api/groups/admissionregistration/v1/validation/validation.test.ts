// Errors of webhooks and admission policies, with upstream's messages. Each row is a change to a
// valid object, and the resulting errors.

import { describe, expect, test } from 'vitest';

import { applyMergePatch } from '#machinery/patch/merge-patch.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES } from '#api/testing/variation.ts';
import type * as admission from '../types.ts';
import * as validation from './index.ts';

const scheme = newDefaultScheme();

function make<T extends object>(kind: string, base: object, patch: object): T {
  const message = allSchemas.message(`admissionregistration/v1.${kind}`);
  const { object, unknownFields } = decodeObject<T>(message, applyMergePatch(base, patch));
  expect(unknownFields).toEqual([]);
  if (message.gvk !== undefined)
    scheme.codecOf(message.gvk)?.applyDefaults(object as Record<string, unknown>);
  return object;
}

const rule = { operations: ['CREATE'], apiGroups: ['a'], apiVersions: ['v1'], resources: ['pods'] };
const hook = {
  name: 'webhook.k8s.io',
  clientConfig: { url: 'https://example.com/x' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  rules: [rule],
};
const metadata = { name: 'it' };
const PATCH = '[JSONPatch{op: "remove", path: "/spec/x"}]';

const OLD_LABEL =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', " +
  'start with an alphabetic character, and end with an alphanumeric character (e.g. ' +
  "'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

describe('webhooks', () => {
  const of = (patch: object): admission.MutatingWebhookConfiguration =>
    make(
      'MutatingWebhookConfiguration',
      { metadata },
      { webhooks: [applyMergePatch(hook, patch)] },
    );
  const check = (patch: object): string[] =>
    messages(validation.validateWebhookConfiguration(of(patch)));
  const rules = (change: object): object => ({ rules: [{ ...rule, ...change }] });
  const resources = (...list: readonly string[]): object => rules({ resources: list });
  const service = (change: object): object => ({
    clientConfig: { url: null, service: { name: 'n', namespace: 'ns', port: 443, ...change } },
  });

  test.each<[patch: object, errors: readonly string[]]>([
    [{}, []],
    [{ name: '' }, ['name: Required value']],
    [
      { name: 'k8s.io' },
      [
        'name: Invalid value: "k8s.io": should be a domain with at least three segments separated by dots',
      ],
    ],
    [{ name: 'a.b.C' }, [`name: Invalid value: "a.b.C": ${NAME_MESSAGES.subdomain}`]],
    [{ name: 'one.two.three.four' }, []],
    [{ sideEffects: 'NoneOnDryRun' }, []],
    [
      { sideEffects: 'Unknown' },
      ['sideEffects: Unsupported value: "Unknown": supported values: "None", "NoneOnDryRun"'],
    ],
    [
      { sideEffects: null },
      ['sideEffects: Required value: must specify one of None, NoneOnDryRun'],
    ],
    [
      { sideEffects: 'Some' },
      ['sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
    ],
    [
      { timeoutSeconds: 0 },
      ['timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds'],
    ],
    [{ timeoutSeconds: 30 }, []],
    [
      { timeoutSeconds: 31 },
      ['timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds'],
    ],
    [
      { failurePolicy: 'x' },
      ['failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"'],
    ],
    [
      { matchPolicy: 'x' },
      ['matchPolicy: Unsupported value: "x": supported values: "Equivalent", "Exact"'],
    ],
    [
      { reinvocationPolicy: 'x' },
      ['reinvocationPolicy: Unsupported value: "x": supported values: "IfNeeded", "Never"'],
    ],
    [
      { admissionReviewVersions: [] },
      ['admissionReviewVersions: Required value: must specify one of v1, v1beta1'],
    ],
    [
      { admissionReviewVersions: ['v1', 'v1'] },
      ['admissionReviewVersions[1]: Invalid value: "v1": duplicate version'],
    ],
    [
      { admissionReviewVersions: ['invalidv1'] },
      [
        'admissionReviewVersions: Invalid value: ["invalidv1"]: must include at least one of v1, v1beta1',
      ],
    ],
    [{ admissionReviewVersions: ['invalidv1', 'v1'] }, []],
    [{ admissionReviewVersions: ['v1', 'v1beta1'] }, []],
    [
      { admissionReviewVersions: ['v1', '0v'] },
      [`admissionReviewVersions[1]: Invalid value: "0v": ${OLD_LABEL}`],
    ],
    [
      { admissionReviewVersions: [''] },
      [
        `admissionReviewVersions[0]: Invalid value: "": ${OLD_LABEL}`,
        'admissionReviewVersions: Invalid value: [""]: must include at least one of v1, v1beta1',
      ],
    ],
    [
      { timeoutSeconds: -1 },
      ['timeoutSeconds: Invalid value: -1: the timeout value must be between 1 and 30 seconds'],
    ],
    [{ timeoutSeconds: 1 }, []],
    [{ rules: null }, []],
    [{ failurePolicy: 'Ignore', matchPolicy: 'Exact', reinvocationPolicy: 'IfNeeded' }, []],
    [
      { failurePolicy: '' },
      ['failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"'],
    ],
    [
      { matchPolicy: '' },
      ['matchPolicy: Unsupported value: "": supported values: "Equivalent", "Exact"'],
    ],
    [
      {
        namespaceSelector: { matchLabels: { a: '-' } },
        objectSelector: { matchExpressions: [{ key: 'a', operator: 'x' }] },
      },
      [
        `namespaceSelector.matchLabels: Invalid value: "-": ${NAME_MESSAGES.labelValue}`,
        'objectSelector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator',
      ],
    ],
    [rules({ operations: [] }), ['rules[0].operations: Required value']],
    [
      rules({ operations: ['CREATE', '*'] }),
      [
        'rules[0].operations: Invalid value: ["CREATE","*"]: if \'*\' is present, must not specify other operations',
      ],
    ],
    [
      rules({ operations: ['PATCH'] }),
      [
        'rules[0].operations[0]: Unsupported value: "PATCH": supported values: "*", ' +
          '"CONNECT", "CREATE", "DELETE", "UPDATE"',
      ],
    ],
    [rules({ operations: ['*'] }), []],
    [rules({ operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'] }), []],
    [rules({ apiGroups: [''] }), []],
    [rules({ apiGroups: [] }), ['rules[0].apiGroups: Required value']],
    [rules({ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], scope: '*' }), []],
    [rules({ apiVersions: [] }), ['rules[0].apiVersions: Required value']],
    [rules({ resources: [] }), ['rules[0].resources: Required value']],
    [rules({ scope: 'Cluster' }), []],
    [rules({ scope: 'Namespaced' }), []],
    [
      rules({ scope: '' }),
      ['rules[0].scope: Unsupported value: "": supported values: "*", "Cluster", "Namespaced"'],
    ],
    [
      rules({ apiGroups: ['a', '*'] }),
      [
        'rules[0].apiGroups: Invalid value: ["a","*"]: if \'*\' is present, must not specify other API groups',
      ],
    ],
    [rules({ apiVersions: ['a', ''] }), ['rules[0].apiVersions[1]: Required value']],
    [
      rules({ apiVersions: ['a', '*'] }),
      [
        'rules[0].apiVersions: Invalid value: ["a","*"]: if \'*\' is present, must not specify other API versions',
      ],
    ],
    [
      rules({ scope: 'x' }),
      ['rules[0].scope: Unsupported value: "x": supported values: "*", "Cluster", "Namespaced"'],
    ],
    [resources('*/*'), []],
    [resources('*', 'a/b', '*/c'), []],
    [resources('a', 'a/b', 'c/*'), []],
    [resources('a', ''), ['rules[0].resources[1]: Required value']],
    [
      resources('*/*', 'a'),
      [
        'rules[0].resources: Invalid value: ["*/*","a"]: if \'*/*\' is present, must not specify other resources',
      ],
    ],
    [
      resources('a/*', 'a/x'),
      ['rules[0].resources[1]: Invalid value: "a/x": if \'a/*\' is present, must not specify a/x'],
    ],
    [
      resources('*/a', 'x/a'),
      ['rules[0].resources[1]: Invalid value: "x/a": if \'*/a\' is present, must not specify x/a'],
    ],
    [
      resources('*', 'a'),
      [
        'rules[0].resources: Invalid value: ["*","a"]: if \'*\' is present, ' +
          'must not specify other resources without subresources',
      ],
    ],
    [
      resources('*', 'a/b', 'a/*', '*/*'),
      [
        'rules[0].resources: Invalid value: ["*","a/b","a/*","*/*"]: if \'*/*\' is ' +
          'present, must not specify other resources',
      ],
    ],
    [
      { clientConfig: { url: null } },
      ['clientConfig: Required value: exactly one of url or service is required'],
    ],
    [
      { clientConfig: { service: { name: 'n', namespace: 'ns' } } },
      ['clientConfig: Required value: exactly one of url or service is required'],
    ],
    [
      { clientConfig: { url: '' } },
      [
        'clientConfig.url: Invalid value: "": \'https\' is the only allowed URL scheme; ' +
          'desired format: https://host[/path]',
        'clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
      ],
    ],
    [
      { clientConfig: { url: 'http://example.com' } },
      [
        'clientConfig.url: Invalid value: "http": \'https\' is the only allowed URL ' +
          'scheme; desired format: https://host[/path]',
      ],
    ],
    [
      { clientConfig: { url: 'https:///fancy' } },
      [
        'clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
      ],
    ],
    [
      { clientConfig: { url: 'https://user:pass@host.com' } },
      [
        'clientConfig.url: Invalid value: "user:pass": user information is not permitted in the URL',
      ],
    ],
    [
      { clientConfig: { url: 'https://host.com#x' } },
      ['clientConfig.url: Invalid value: "x": fragments are not permitted in the URL'],
    ],
    [
      { clientConfig: { url: 'https://host.com?a=b' } },
      ['clientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL'],
    ],
    [
      { clientConfig: { url: 'https://' } },
      [
        'clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
      ],
    ],
    [{ clientConfig: { url: 'https://example.com:8443/a/b' } }, []],
    [{ clientConfig: { url: 'HTTPS://example.com' } }, []],
    [
      { clientConfig: { url: 'https://e x.com' } },
      [
        'clientConfig.url: Required value: url must be a valid URL: parse "https://e ' +
          'x.com": invalid character " " in host name; desired format: https://host[/path]',
      ],
    ],
    [
      { clientConfig: { url: 'ftp://a@b?c#d' } },
      [
        'clientConfig.url: Invalid value: "ftp": \'https\' is the only allowed URL scheme; ' +
          'desired format: https://host[/path]',
        'clientConfig.url: Invalid value: "a": user information is not permitted in the URL',
        'clientConfig.url: Invalid value: "d": fragments are not permitted in the URL',
        'clientConfig.url: Invalid value: "c": query parameters are not permitted in the URL',
      ],
    ],
    [service({}), []],
    [service({ name: '' }), ['clientConfig.service.namespace: Required value']],
    [service({ namespace: '' }), ['clientConfig.service.name: Required value']],
    [service({ port: null }), []],
    [
      service({ port: 0 }),
      [
        'clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
      ],
    ],
    [service({ path: '' }), []],
    [service({ path: '/foo' }), []],
    [
      service({ path: '/apis/a.b/v1alpha1/--bad' }),
      [
        `clientConfig.service.path: Invalid value: "/apis/a.b/v1alpha1/--bad": segment[3]: ${NAME_MESSAGES.subdomain}`,
      ],
    ],
    [
      service({ path: 'a//B' }),
      [
        'clientConfig.service.path: Invalid value: "a//B": must start with a \'/\'',
        'clientConfig.service.path: Invalid value: "a//B": segment[0] may not be empty',
        'clientConfig.service.path: Invalid value: "a//B": segment[1] may not be empty',
        `clientConfig.service.path: Invalid value: "a//B": segment[2]: ${NAME_MESSAGES.subdomain}`,
      ],
    ],
    [service({ path: '/' }), []],
    [service({ path: '/foo/' }), []],
    [service({ path: '/apis/foo.bar/v1alpha1' }), []],
    [
      service({ path: 'foo/' }),
      ['clientConfig.service.path: Invalid value: "foo/": must start with a \'/\''],
    ],
    [
      service({ path: '//' }),
      ['clientConfig.service.path: Invalid value: "//": segment[0] may not be empty'],
    ],
    [
      service({ path: '/foo//bar/' }),
      ['clientConfig.service.path: Invalid value: "/foo//bar/": segment[1] may not be empty'],
    ],
    [
      service({ port: 65536 }),
      [
        'clientConfig.service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive',
      ],
    ],
    [
      { matchConditions: [{ name: '', expression: 'true' }] },
      ['matchConditions[0].name: Required value'],
    ],
    [{ matchConditions: [{ name: 'example.com/A_b.c', expression: 'true' }] }, []],
    [
      {
        matchConditions: Array.from({ length: 64 }, (_, index) => ({
          name: `c${index}`,
          expression: 'true',
        })),
      },
      [],
    ],
    [
      { matchConditions: [{ name: '', expression: '' }] },
      ['matchConditions[0].expression: Required value', 'matchConditions[0].name: Required value'],
    ],
    [
      { matchConditions: [{ name: '-a', expression: 'true' }] },
      [`matchConditions[0].name: Invalid value: "-a": ${NAME_MESSAGES.namePart}`],
    ],
    [
      { matchConditions: [{ name: 'a', expression: ' ' }] },
      ['matchConditions[0].expression: Required value'],
    ],
    [
      { matchConditions: ['a', 'a'].map((name) => ({ name, expression: 'true' })) },
      ['matchConditions[1].name: Duplicate value: "a"'],
    ],
    [
      {
        matchConditions: Array.from({ length: 65 }, (_, index) => ({
          name: `c${index}`,
          expression: 'true',
        })),
      },
      ['matchConditions: Too many: 65: must have at most 64 items'],
    ],
  ])('%j', (patch, errors) => {
    expect(check(patch).map((message) => message.replace('webhooks[0].', ''))).toEqual(errors);
  });

  test('duplicate names are reported once', () => {
    const two = make<admission.ValidatingWebhookConfiguration>(
      'ValidatingWebhookConfiguration',
      { metadata },
      { webhooks: [hook, hook] },
    );
    expect(messages(validation.validateWebhookConfiguration(two))).toEqual([
      'webhooks[1].name: Duplicate value: "webhook.k8s.io"',
    ]);
    expect(validation.validateWebhookConfigurationUpdate(two, two)).toEqual([]);
  });

  test('existing errors are accepted', () => {
    const bad = {
      sideEffects: 'Unknown',
      admissionReviewVersions: ['v3'],
      namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['-'] }] },
    };
    expect(validation.validateWebhookConfigurationUpdate(of(bad), of(bad))).toEqual([]);
    expect(
      validation.validateWebhookConfigurationUpdate(of(bad), of({})).map(({ field }) => field),
    ).toEqual([
      'webhooks[0].sideEffects',
      'webhooks[0].namespaceSelector.matchExpressions[0].values[0]',
      'webhooks[0].admissionReviewVersions',
    ]);
  });
});

const matchConstraints = { resourceRules: [rule] };
const validations = [{ expression: 'object.spec.replicas < 5' }];

describe('validating policies', () => {
  const good = { metadata, spec: { matchConstraints, validations } };
  const check = (spec: object): string[] =>
    messages(
      validation.validateValidatingAdmissionPolicy(
        make('ValidatingAdmissionPolicy', good, { spec }),
      ),
    );
  const ruled = (change: object): object => ({
    matchConstraints: { resourceRules: [{ ...rule, ...change }] },
  });
  const RULE = 'spec.matchConstraints.resourceRules[0]';

  test.each<[patch: object, errors: readonly string[]]>([
    [{}, []],
    [
      { failurePolicy: 'x' },
      ['spec.failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"'],
    ],
    [{ matchConstraints: null }, ['spec.matchConstraints: Required value']],
    [
      { matchConstraints: { resourceRules: null } },
      ['spec.matchConstraints.resourceRules: Required value'],
    ],
    [
      { validations: null },
      [
        'spec.validations: Required value: validations or auditAnnotations must contain at least one item',
        'spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item',
      ],
    ],
    [
      { validations: [{ expression: ' ' }] },
      ['spec.validations[0].expression: Required value: expression is not specified'],
    ],
    [
      { validations: [{ expression: 'true', messageExpression: ' ' }] },
      ['spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified'],
    ],
    [
      { validations: [{ expression: 'true', message: 'a\nb' }] },
      ['spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks'],
    ],
    [
      { validations: [{ expression: 'true', reason: 'other' }] },
      [
        'spec.validations[0].reason: Unsupported value: "other": supported values: ' +
          '"Forbidden", "Invalid", "RequestEntityTooLarge"',
      ],
    ],
    [{ failurePolicy: 'Ignore' }, []],
    [
      { matchConstraints: { matchPolicy: 'x' } },
      [
        'spec.matchConstraints.matchPolicy: Unsupported value: "x": supported values: "Equivalent", "Exact"',
      ],
    ],
    [
      { matchConstraints: { resourceRules: [] } },
      ['spec.matchConstraints.resourceRules: Required value'],
    ],
    [
      {
        matchConstraints: {
          namespaceSelector: { matchLabels: { '': 'a' } },
          objectSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] },
        },
      },
      [
        'spec.matchConstraints.namespaceSelector.matchLabels: Invalid value: "": name part must be non-empty',
        `spec.matchConstraints.namespaceSelector.matchLabels: Invalid value: "": ${NAME_MESSAGES.namePart}`,
        'spec.matchConstraints.objectSelector.matchExpressions[0].values: Required value: ' +
          "must be specified when `operator` is 'In' or 'NotIn'",
      ],
    ],
    [
      ruled({ operations: ['*', 'CREATE'] }),
      [
        `${RULE}.operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`,
      ],
    ],
    [
      ruled({ operations: ['x'] }),
      [
        `${RULE}.operations[0]: Unsupported value: "x": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`,
      ],
    ],
    [ruled({ operations: null }), [`${RULE}.operations: Required value`]],
    [
      ruled({ apiGroups: ['*', 'a'] }),
      [
        `${RULE}.apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other API groups`,
      ],
    ],
    [ruled({ apiVersions: [''] }), [`${RULE}.apiVersions[0]: Required value`]],
    [
      ruled({ resources: ['a/*', 'a/b'] }),
      [`${RULE}.resources[1]: Invalid value: "a/b": if 'a/*' is present, must not specify a/b`],
    ],
    [
      ruled({ resources: ['*', '*/*'] }),
      [
        `${RULE}.resources: Invalid value: ["*","*/*"]: if '*/*' is present, must not specify other resources`,
      ],
    ],
    [
      ruled({ scope: 'x' }),
      [`${RULE}.scope: Unsupported value: "x": supported values: "*", "Cluster", "Namespaced"`],
    ],
    [
      ruled({ resourceNames: ['a/b', '%'] }),
      [
        `${RULE}.resourceNames[0]: Invalid value: "a/b": may not contain '/'`,
        `${RULE}.resourceNames[1]: Invalid value: "%": may not contain '%'`,
      ],
    ],
    [
      { matchConstraints: { excludeResourceRules: [{ ...rule, resources: [] }] } },
      ['spec.matchConstraints.excludeResourceRules[0].resources: Required value'],
    ],
    [
      { matchConditions: [{ name: '', expression: '' }] },
      [
        'spec.matchConditions[0].expression: Required value',
        'spec.matchConditions[0].name: Required value',
      ],
    ],
    [
      { validations: [{ expression: 'true', message: ' ' }] },
      ['spec.validations[0].message: Invalid value: " ": message must be non-empty if specified'],
    ],
    [{ validations: [{ expression: 'true', message: '\n one line\r' }] }, []],
    [
      {
        validations: ['Unauthorized', 'Forbidden', 'Invalid', 'RequestEntityTooLarge'].map(
          (reason) => ({
            expression: 'true',
            reason,
          }),
        ),
      },
      [
        'spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: ' +
          '"Forbidden", "Invalid", "RequestEntityTooLarge"',
      ],
    ],
    [{ paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }, []],
    [
      { paramKind: { apiVersion: '!example.com/v1', kind: 'A' } },
      [`spec.paramKind.apiVersion: Invalid value: "!example.com": ${NAME_MESSAGES.subdomain}`],
    ],
    [
      { paramKind: { apiVersion: 'example.com/!v1', kind: 'A' } },
      [`spec.paramKind.apiVersion: Invalid value: "!v1": ${OLD_LABEL}`],
    ],
    [
      { paramKind: { apiVersion: '/', kind: '!' } },
      [
        'spec.paramKind.apiVersion: Invalid value: "/": version must be specified',
        `spec.paramKind.kind: Invalid value: "!": may have mixed case, but should otherwise match: ${OLD_LABEL}`,
      ],
    ],
    [
      { paramKind: { apiVersion: '', kind: '' } },
      ['spec.paramKind.apiVersion: Required value', 'spec.paramKind.kind: Required value'],
    ],
    [
      { variables: [{ name: '', expression: '1' }] },
      ['spec.variables[0].name: Required value: name is not specified'],
    ],
    [
      { variables: [{ name: 'a-b', expression: '' }] },
      [
        'spec.variables[0].name: Invalid value: "a-b": must be a valid CEL identifier',
        'spec.variables[0].expression: Required value: expression is not specified',
      ],
    ],
    [
      { auditAnnotations: [{ key: '', valueExpression: "'x'" }] },
      [
        'spec.auditAnnotations[0].key: Invalid value: "it/": name part must be non-empty',
        `spec.auditAnnotations[0].key: Invalid value: "it/": ${NAME_MESSAGES.namePart}`,
      ],
    ],
    [
      { auditAnnotations: [{ key: '@', valueExpression: ' ' }] },
      [
        `spec.auditAnnotations[0].key: Invalid value: "it/@": ${NAME_MESSAGES.namePart}`,
        'spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified',
      ],
    ],
    [
      { auditAnnotations: [{ key: 'a', valueExpression: `'${'x'.repeat(5 * 1024 - 1)}'` }] },
      [
        'spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length',
      ],
    ],
    [
      {
        validations: null,
        auditAnnotations: Array.from({ length: 20 }, (_, index) => ({
          key: `k${index}`,
          valueExpression: "'x'",
        })),
      },
      [],
    ],
    [{ paramKind: { kind: 'A' } }, ['spec.paramKind.apiVersion: Required value']],
    [{ paramKind: { apiVersion: 'v1' } }, ['spec.paramKind.kind: Required value']],
    [
      { paramKind: { apiVersion: 'a/b/c', kind: 'A' } },
      ['spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
    ],
    [
      { paramKind: { apiVersion: 'example.com/', kind: 'A' } },
      ['spec.paramKind.apiVersion: Invalid value: "example.com/": version must be specified'],
    ],
    [
      { variables: [{ name: '4ever', expression: '1' }] },
      ['spec.variables[0].name: Invalid value: "4ever": must be a valid CEL identifier'],
    ],
    [
      { variables: [{ name: 'in', expression: '1' }] },
      ['spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier'],
    ],
    [
      { variables: [{ name: 'a', expression: ' ' }] },
      ['spec.variables[0].expression: Required value: expression is not specified'],
    ],
    [{ auditAnnotations: [{ key: 'a', valueExpression: "'x'" }] }, []],
    [
      { auditAnnotations: [{ key: 'a', valueExpression: '' }] },
      [
        'spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified',
      ],
    ],
    [
      { auditAnnotations: ['a', 'a'].map((key) => ({ key, valueExpression: "'x'" })) },
      ['spec.auditAnnotations[1].key: Duplicate value: "a"'],
    ],
    [
      { matchConstraints: { resourceRules: [{ ...rule, resourceNames: ['a', 'a', '..'] }] } },
      [
        'spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "a"',
        'spec.matchConstraints.resourceRules[0].resourceNames[2]: Invalid value: "..": may not be \'..\'',
      ],
    ],
  ])('%j', (patch, errors) => {
    expect(check(patch)).toEqual(errors);
  });

  test('their status', () => {
    const condition = {
      type: 'a',
      status: 'maybe',
      reason: '',
      message: '',
      lastTransitionTime: null,
    };
    const status = {
      typeChecking: { expressionWarnings: [{ fieldRef: '', warning: '' }] },
      conditions: [condition],
    };
    const policy = make<admission.ValidatingAdmissionPolicy>('ValidatingAdmissionPolicy', good, {
      status,
    });
    expect(messages(validation.validateValidatingAdmissionPolicyStatus(policy))).toEqual([
      'status.typeChecking.expressionWarnings[0].warning: Required value',
      'status.typeChecking.expressionWarnings[0].fieldRef: Required value',
      'status.conditions[0].status: Unsupported value: "maybe": supported values: "False", "True", "Unknown"',
      'status.conditions[0].lastTransitionTime: Required value',
      'status.conditions[0].reason: Required value',
    ]);
  });
});

describe('mutating policies', () => {
  const mutations = [{ patchType: 'JSONPatch', jsonPatch: { expression: PATCH } }];
  const good = { metadata, spec: { matchConstraints, mutations, reinvocationPolicy: 'Never' } };
  const check = (spec: object): string[] =>
    messages(
      validation.validateMutatingAdmissionPolicy(make('MutatingAdmissionPolicy', good, { spec })),
    );
  const operations = (...list: readonly string[]): object => ({
    matchConstraints: { resourceRules: [{ ...rule, operations: list }] },
  });

  test.each<[patch: object, errors: readonly string[]]>([
    [{}, []],
    [
      { mutations: null },
      ['spec.mutations: Required value: mutations must contain at least one item'],
    ],
    [{ reinvocationPolicy: null }, ['spec.reinvocationPolicy: Required value']],
    [
      { reinvocationPolicy: 'other' },
      [
        'spec.reinvocationPolicy: Unsupported value: "other": supported values: "IfNeeded", "Never"',
      ],
    ],
    [
      { mutations: [{ applyConfiguration: { expression: 'Object{}' } }] },
      ['spec.mutations[0].patchType: Required value'],
    ],
    [
      { mutations: [{ patchType: 'other' }] },
      [
        'spec.mutations[0].patchType: Unsupported value: "other": supported values: "ApplyConfiguration", "JSONPatch"',
      ],
    ],
    [
      { mutations: [{ patchType: 'JSONPatch', applyConfiguration: { expression: 'Object{}' } }] },
      [
        'spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must ' +
          'not be specified when patchType is JSONPatch',
        'spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch',
      ],
    ],
    [
      { mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: '' } }] },
      ['spec.mutations[0].applyConfiguration.expression: Required value'],
    ],
    [
      operations('DELETE'),
      [
        'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": ' +
          'supported values: "*", "CONNECT", "CREATE", "UPDATE"',
      ],
    ],
    [operations('CREATE', 'UPDATE', 'CONNECT'), []],
  ])('%j', (patch, errors) => {
    expect(check(patch)).toEqual(errors);
  });
});

describe('bindings', () => {
  const good = { metadata, spec: { policyName: 'p', validationActions: ['Deny'] } };
  const check = (spec: object): string[] =>
    messages(
      validation.validateValidatingAdmissionPolicyBinding(
        make('ValidatingAdmissionPolicyBinding', good, { spec }),
      ),
    );
  const parameterNotFoundAction = 'Deny';

  test.each<[patch: object, errors: readonly string[]]>([
    [{}, []],
    [{ policyName: null }, ['spec.policyName: Required value']],
    [
      { validationActions: null },
      ['spec.validationActions: Required value: at least one validation action is required'],
    ],
    [
      { validationActions: ['Deny', 'Warn'] },
      [
        'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both ' +
          'Deny and Warn (repeating the same validation failure information in the API ' +
          'response and headers serves no purpose)',
      ],
    ],
    [
      { validationActions: ['Audit', 'Audit'] },
      ['spec.validationActions[1]: Duplicate value: "Audit"'],
    ],
    [
      { validationActions: ['illegal'] },
      [
        'spec.validationActions[0]: Unsupported value: "illegal": supported values: "Audit", "Deny", "Warn"',
      ],
    ],
    [{ policyName: 'A' }, [`spec.policyName: Invalid value: "A": ${NAME_MESSAGES.subdomain}`]],
    [
      { validationActions: [] },
      ['spec.validationActions: Required value: at least one validation action is required'],
    ],
    [{ validationActions: ['Warn', 'Audit'] }, []],
    [
      { paramRef: { name: '..', parameterNotFoundAction } },
      ['spec.paramRef.name: Invalid value: "..": may not be \'..\''],
    ],
    [
      { paramRef: { selector: { matchLabels: { a: '-' } }, parameterNotFoundAction: 'Allow' } },
      [`spec.paramRef.selector.matchLabels: Invalid value: "-": ${NAME_MESSAGES.labelValue}`],
    ],
    [
      { paramRef: { name: 'a', parameterNotFoundAction: 'x' } },
      [
        'spec.paramRef.parameterNotFoundAction: Unsupported value: "x": supported values: "Deny", "Allow"',
      ],
    ],
    [{ matchResources: { resourceRules: [rule] } }, []],
    [
      { matchResources: { matchPolicy: 'x' } },
      [
        'spec.matchResources.matchPolicy: Unsupported value: "x": supported values: "Equivalent", "Exact"',
      ],
    ],
    [{ paramRef: { name: 'a', parameterNotFoundAction } }, []],
    [{ paramRef: { selector: {}, parameterNotFoundAction } }, []],
    [{ paramRef: { name: 'a' } }, ['spec.paramRef.parameterNotFoundAction: Required value']],
    [
      { paramRef: { parameterNotFoundAction } },
      ['spec.paramRef: Required value: one of name or selector must be specified'],
    ],
    [
      { paramRef: { name: 'a', selector: {}, parameterNotFoundAction } },
      [
        'spec.paramRef.name: Forbidden: name and selector are mutually exclusive',
        'spec.paramRef.selector: Forbidden: name and selector are mutually exclusive',
      ],
    ],
    [
      { matchResources: { resourceRules: [{ ...rule, operations: [] }] } },
      ['spec.matchResources.resourceRules[0].operations: Required value'],
    ],
  ])('%j', (patch, errors) => {
    expect(check(patch)).toEqual(errors);
  });
});
