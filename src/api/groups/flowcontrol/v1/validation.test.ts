// Errors of flow schemas and priority levels, with upstream's messages. Each row is a change to a
// valid object, and the resulting errors.

import { describe, expect, test } from 'vitest';

import { applyMergePatch } from '#machinery/patch/merge-patch.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { messages } from '#api/testing/manifest.ts';
import { FLOW_SCHEMAS, PRIORITY_LEVELS } from './bootstrap.ts';
import type * as flowcontrol from './types.ts';
import {
  validateFlowControlStatus,
  validateFlowSchema,
  validatePriorityLevelConfiguration,
} from './validation.ts';

const scheme = newDefaultScheme();

function make<T extends object>(kind: string, base: object, patch: object): T {
  const message = allSchemas.message(`flowcontrol/v1.${kind}`);
  const { object, unknownFields } = decodeObject<T>(message, applyMergePatch(base, patch));
  expect(unknownFields).toEqual([]);
  if (message.gvk !== undefined)
    scheme.codecOf(message.gvk)?.applyDefaults(object as Record<string, unknown>);
  return object;
}

const schema = (base: object, patch: object = {}): flowcontrol.FlowSchema =>
  make('FlowSchema', base, patch);
const level = (base: object, patch: object = {}): flowcontrol.PriorityLevelConfiguration =>
  make('PriorityLevelConfiguration', base, patch);

describe('flow schemas', () => {
  const user = { kind: 'User', user: { name: 'noxu' } };
  const resourceRule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] };
  const url = { verbs: ['*'], nonResourceURLs: ['*'] };
  const good = {
    metadata: { name: 'system-foo' },
    spec: {
      priorityLevelConfiguration: { name: 'system-bar' },
      matchingPrecedence: 50,
      rules: [{ subjects: [user], resourceRules: [resourceRule], nonResourceRules: [url] }],
    },
  };
  const check = (spec: object): string[] => messages(validateFlowSchema(schema(good, { spec })));
  const subject = (one: object): object => ({
    rules: [{ subjects: [one], resourceRules: [resourceRule] }],
  });
  const resource = (change: object): object => ({
    rules: [{ subjects: [user], resourceRules: [{ ...resourceRule, ...change }] }],
  });
  const urls = (...nonResourceURLs: readonly string[]): object => ({
    rules: [{ subjects: [user], nonResourceRules: [{ ...url, nonResourceURLs }] }],
  });
  const LABEL =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', " +
    "and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', " +
    "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
  const ALL_VERBS =
    '"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"';

  test.each<[spec: object, errors: readonly string[]]>([
    [{}, []],
    [{ matchingPrecedence: null }, []],
    [
      { matchingPrecedence: -1 },
      ['spec.matchingPrecedence: Invalid value: -1: must be a positive value'],
    ],
    [
      { matchingPrecedence: 10_001 },
      ['spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000'],
    ],
    [
      { matchingPrecedence: 1 },
      [
        "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
      ],
    ],
    [
      { distinguisherMethod: { type: 'x' } },
      [
        'spec.distinguisherMethod.type: Unsupported value: {"type":"x"}: supported values: "ByNamespace", "ByUser"',
      ],
    ],
    [
      { priorityLevelConfiguration: { name: '' } },
      ['spec.priorityLevelConfiguration.name: Required value: must reference a priority level'],
    ],
    [
      { rules: [{ subjects: [], resourceRules: [resourceRule] }] },
      ['spec.rules[0].subjects: Required value: subjects must contain at least one value'],
    ],
    [
      { rules: [{ subjects: [user] }] },
      [
        'spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty',
      ],
    ],
    [
      subject({ kind: 'User' }),
      [
        "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
      ],
    ],
    [
      subject({ kind: 'User', user: { name: '' } }),
      ['spec.rules[0].subjects[0].user.name: Required value'],
    ],
    [
      subject({ ...user, group: { name: 'a' } }),
      [
        "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
      ],
    ],
    [
      subject({ kind: 'ServiceAccount', user: { name: 'fred' }, group: { name: 'fred' } }),
      [
        'spec.rules[0].subjects[0].serviceAccount: Required value: serviceAccount is ' +
          "required when subject kind is 'ServiceAccount'",
        "spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'",
        "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
      ],
    ],
    [
      subject({
        kind: 'User',
        group: { name: 'fred' },
        serviceAccount: { namespace: 's', name: 'n' },
      }),
      [
        "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
        'spec.rules[0].subjects[0].serviceAccount: Forbidden: serviceAccount is forbidden ' +
          "when subject kind is not 'ServiceAccount'",
        "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
      ],
    ],
    [
      subject({
        kind: 'Group',
        user: { name: 'fred' },
        serviceAccount: { namespace: 's', name: 'n' },
      }),
      [
        "spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'",
        'spec.rules[0].subjects[0].serviceAccount: Forbidden: serviceAccount is forbidden ' +
          "when subject kind is not 'ServiceAccount'",
        "spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'",
      ],
    ],
    [
      subject({ kind: 'Group', group: { name: '' } }),
      ['spec.rules[0].subjects[0].group.name: Required value'],
    ],
    [
      subject({ kind: 'ServiceAccount', serviceAccount: { name: '', namespace: 'A' } }),
      [
        'spec.rules[0].subjects[0].serviceAccount.name: Required value',
        `spec.rules[0].subjects[0].serviceAccount.namespace: Invalid value: "A": ${LABEL}`,
      ],
    ],
    [
      resource({
        verbs: ['*', 'create'],
        apiGroups: ['*', 'a'],
        resources: ['*', 'b'],
        namespaces: ['*', 'c'],
      }),
      [
        `spec.rules[0].resourceRules[0].verbs: Invalid value: ["*","create"]: if '*' is ` +
          'present, must not specify other verbs',
        `spec.rules[0].resourceRules[0].apiGroups: Invalid value: ["*","a"]: if '*' is ` +
          'present, must not specify other api groups',
        `spec.rules[0].resourceRules[0].resources: Invalid value: ["*","b"]: if '*' is ` +
          'present, must not specify other resources',
        `spec.rules[0].resourceRules[0].namespaces: Invalid value: ["*","c"]: if '*' is ` +
          'present, must not specify other namespaces',
      ],
    ],
    [
      resource({
        apiGroups: ['', 'batch'],
        resources: ['pods', 'jobs'],
        namespaces: ['a', 'b'],
        clusterScope: true,
      }),
      [],
    ],
    [
      urls('*', '/apis/*'),
      [
        'spec.rules[0].nonResourceRules[0].nonResourceURLs: Invalid value: ' +
          `["*","/apis/*"]: if '*' is present, must not specify other non-resource URLs`,
      ],
    ],
    [
      urls(),
      [
        'spec.rules[0].nonResourceRules[0].nonResourceURLs: Required value: ' +
          'nonResourceURLs must contain at least one value',
      ],
    ],
    [
      { rules: [{ subjects: [user], nonResourceRules: [{ ...url, verbs: ['feed'] }] }] },
      [
        `spec.rules[0].nonResourceRules[0].verbs: Unsupported value: ["feed"]: supported values: ${ALL_VERBS}`,
      ],
    ],
    [
      { rules: [{ subjects: [user], nonResourceRules: [{ ...url, verbs: [] }] }] },
      [
        'spec.rules[0].nonResourceRules[0].verbs: Required value: verbs must contain at least one value',
      ],
    ],
    [urls('/healthz', '/a/b/c', '/a/'), []],
    [{ rules: null }, []],
    [{ matchingPrecedence: 10_000, distinguisherMethod: { type: 'ByNamespace' } }, []],
    [
      subject({ kind: 'x' }),
      [
        'spec.rules[0].subjects[0].kind: Unsupported value: "x": supported values: "Group", "ServiceAccount", "User"',
      ],
    ],
    [subject({ kind: 'ServiceAccount', serviceAccount: { name: '*', namespace: 'a' } }), []],
    [
      subject({ kind: 'ServiceAccount', serviceAccount: { name: 'a', namespace: '' } }),
      [
        'spec.rules[0].subjects[0].serviceAccount.namespace: Required value: must specify ' +
          'namespace for service account',
      ],
    ],
    [
      subject({ kind: 'ServiceAccount' }),
      [
        'spec.rules[0].subjects[0].serviceAccount: Required value: serviceAccount is ' +
          "required when subject kind is 'ServiceAccount'",
      ],
    ],
    [
      resource({ verbs: [] }),
      [
        'spec.rules[0].resourceRules[0].verbs: Required value: verbs must contain at least one value',
      ],
    ],
    [
      resource({ verbs: ['feed'] }),
      [
        `spec.rules[0].resourceRules[0].verbs: Unsupported value: ["feed"]: supported values: ${ALL_VERBS}`,
      ],
    ],
    [
      resource({ verbs: ['create', '*'] }),
      [
        `spec.rules[0].resourceRules[0].verbs: Invalid value: ["create","*"]: if '*' is ` +
          'present, must not specify other verbs',
      ],
    ],
    [
      resource({ apiGroups: [] }),
      [
        'spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must supply at least one api group',
      ],
    ],
    [
      resource({ resources: [] }),
      [
        'spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource',
      ],
    ],
    [
      resource({ namespaces: [] }),
      [
        'spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that ' +
          'are not cluster scoped must supply at least one namespace',
      ],
    ],
    [resource({ namespaces: [], clusterScope: true }), []],
    [
      resource({ namespaces: ['-foo'] }),
      [
        'spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: "-foo": each member ' +
          `of this list must be '*' or a DNS-1123 label; ${LABEL}`,
      ],
    ],
    [urls('/', '/foo', '/foo/*'), []],
    [
      urls(''),
      [
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "": must not be empty',
      ],
    ],
    [
      urls('a'),
      [
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "a": must start with slash',
      ],
    ],
    [
      urls('/a b'),
      [
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a b": must not contain white-space',
      ],
    ],
    [
      urls('//a'),
      [
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "//a": must not contain double slash',
      ],
    ],
    [
      urls('/a*', '/a/*/b'),
      [
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a*": ' +
          'wildcard can only do suffix matching',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/a/*/b": ' +
          'wildcard can only do suffix matching',
      ],
    ],
  ])('%j', (spec, errors) => {
    expect(check(spec)).toEqual(errors);
  });

  test.each(FLOW_SCHEMAS)(
    '$name is valid, and immutable if it is mandatory',
    ({ name, mandatory, spec }) => {
      const object = schema({ metadata: { name }, spec });
      expect(object.spec).toEqual(spec);
      expect(validateFlowSchema(object)).toEqual([]);
      const other = messages(
        validateFlowSchema(
          schema(object, { spec: { priorityLevelConfiguration: { name: 'other' } } }),
        ),
      );
      expect(other.map((message) => message.slice(-50))).toEqual(
        mandatory ? [expect.stringMatching(`spec of '${name}' must equal the fixed value$`)] : [],
      );
    },
  );

  test('their status', () => {
    const status = { conditions: [{ type: 'a' }, { type: 'a' }, {}] };
    expect(messages(validateFlowControlStatus(schema(good, { status })))).toEqual([
      'status.conditions[1].type: Duplicate value: "a"',
      'status.conditions[2].type: Required value',
    ]);
  });
});

describe('priority levels', () => {
  const queuing = { queues: 64, handSize: 6, queueLengthLimit: 50 };
  const good = {
    metadata: { name: 'it' },
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing } } },
  };
  const check = (spec: object): string[] =>
    messages(validatePriorityLevelConfiguration(level(good, { spec })));
  const limited = (change: object): object => ({ limited: change });
  const queues = (change: object): object => limited({ limitResponse: { queuing: change } });
  const AT = 'spec.limited.limitResponse.queuing';

  test.each<[spec: object, errors: readonly string[]]>([
    [{}, []],
    [
      { type: 'Exempt', limited: null },
      [`spec.type: Invalid value: "Exempt": must be 'Exempt' if and only if \`name\` is 'exempt'`],
    ],
    [{ type: 'x' }, ['spec.type: Unsupported value: "x": supported values: "Exempt", "Limited"']],
    [{ limited: null }, ['spec.limited: Required value: must not be empty when type is Limited']],
    [{ exempt: {} }, ['spec.exempt: Forbidden: must be nil if the type is Limited']],
    [
      limited({ nominalConcurrencyShares: -1 }),
      ['spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer'],
    ],
    [limited({ nominalConcurrencyShares: 0 }), []],
    [
      limited({ lendablePercent: 101 }),
      ['spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive'],
    ],
    [
      limited({ borrowingLimitPercent: -1 }),
      [
        'spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer',
      ],
    ],
    [
      limited({ limitResponse: { type: 'Reject' } }),
      [`${AT}: Forbidden: must be nil if limited.limitResponse.type is not Limited`],
    ],
    [
      limited({ limitResponse: { queuing: null } }),
      [`${AT}: Required value: must not be empty if limited.limitResponse.type is Limited`],
    ],
    [
      limited({ limitResponse: { type: 'x' } }),
      [
        'spec.limited.limitResponse.type: Unsupported value: "x": supported values: "Queue", "Reject"',
      ],
    ],
    [
      queues({ queueLengthLimit: -1 }),
      [`${AT}.queueLengthLimit: Invalid value: -1: must be positive`],
    ],
    [
      queues({ queues: -1 }),
      [
        `${AT}.queues: Invalid value: -1: must be positive`,
        `${AT}.handSize: Invalid value: 6: should not be greater than queues (-1)`,
      ],
    ],
    [
      queues({ queues: 10_000_001, handSize: 1 }),
      [`${AT}.queues: Invalid value: 10000001: must not be greater than 10000000`],
    ],
    [queues({ handSize: -1 }), [`${AT}.handSize: Invalid value: -1: must be positive`]],
    [
      queues({ handSize: 65 }),
      [`${AT}.handSize: Invalid value: 65: should not be greater than queues (64)`],
    ],
    [queues({ queues: 64, handSize: 10 }), []],
    [
      queues({ queues: 128, handSize: 10 }),
      [
        `${AT}.handSize: Invalid value: 10: required entropy bits of deckSize 128 and ` +
          'handSize 10 should not be greater than 60',
      ],
    ],
  ])('%j', (spec, errors) => {
    expect(check(spec)).toEqual(errors);
  });

  test.each(PRIORITY_LEVELS)('$name is valid', ({ name, spec }) => {
    const object = level({ metadata: { name }, spec });
    expect(object.spec).toEqual(spec);
    expect(validatePriorityLevelConfiguration(object)).toEqual([]);
  });

  test('of the exempt level only the lendable share may change', () => {
    const exempt = {
      metadata: { name: 'exempt' },
      spec: { type: 'Exempt', exempt: { lendablePercent: 50 } },
    };
    expect(validatePriorityLevelConfiguration(level(exempt))).toEqual([]);
    const messagesOf = messages(
      validatePriorityLevelConfiguration(
        level(exempt, { spec: { exempt: { nominalConcurrencyShares: -1, lendablePercent: 101 } } }),
      ),
    );
    expect(messagesOf).toEqual([
      'spec.exempt.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer',
      'spec.exempt.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive',
    ]);
    const limitedExempt = messages(
      validatePriorityLevelConfiguration(level({ ...good, metadata: { name: 'exempt' } })),
    );
    expect(limitedExempt.at(-1)).toMatch(
      /spec of 'exempt' except the 'spec.exempt' field must equal the fixed value$/,
    );
    const catchAll = messages(
      validatePriorityLevelConfiguration(level({ ...good, metadata: { name: 'catch-all' } })),
    );
    expect(catchAll.at(-1)).toMatch(/spec of 'catch-all' must equal the fixed value$/);
  });
});
