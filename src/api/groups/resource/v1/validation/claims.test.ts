// Errors of claims and their templates, with upstream's messages. Each row is a change to a valid
// object, and the resulting errors.

import { describe, expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, range, rows, variation } from '#api/testing/variation.ts';
import type * as resource from '../types.ts';
import * as validation from './index.ts';

const NO_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
const LABEL = NAME_MESSAGES.label;

const exactly = { deviceClassName: 'c' };
const request = { name: 'r', exactly };
const alternatives = {
  name: 'r',
  firstAvailable: ['a', 'b'].map((name) => ({ name, ...exactly })),
};
const opaque = {
  driver: 'd.example.com',
  parameters: { kind: 'a', apiVersion: 'd.example.com/v1' },
};
const good = {
  metadata: { name: 'it', namespace: 'default' },
  spec: { devices: { requests: [request] } },
};

const claimOf = variation<resource.ResourceClaim>('resource/v1.ResourceClaim', good);
const claim = (devices: object): resource.ResourceClaim => claimOf({ spec: { devices } });
const check = (devices: object): string[] =>
  messages(validation.validateResourceClaim(claim(devices))).map((message) =>
    message.replace('spec.devices.', ''),
  );
/** Returns parameters of this many bytes. */
const parameters = (size: number): object => ({ str: 'x'.repeat(size - '{"str":""}'.length) });

describe('requests', () => {
  const asking = (change: object): object => ({
    requests: [{ name: 'r', exactly: { ...exactly, ...change } }],
  });
  const NOT_ONE = 'exactly one of `exactly` or `firstAvailable` is required';

  test.each(
    rows<[devices: object, errors: readonly string[]]>([
      [{}, []],
      [{ requests: [] }, []],
      [{ requests: range(32, (index) => ({ name: `r${index}`, exactly })) }, []],
      [
        { requests: range(33, (index) => ({ name: `r${index}`, exactly })) },
        ['requests: Too many: 33: must have at most 32 items'],
      ],
      [{ requests: [request, request] }, ['requests[1]: Duplicate value: "r"']],
      [
        { requests: [request, { ...request, name: 's' }, request] },
        ['requests[2]: Duplicate value: "r"'],
      ],
      [{ requests: [{ name: '*', exactly }] }, [`requests[0].name: Invalid value: "*": ${LABEL}`]],
      [{ requests: [{ name: '', exactly }] }, [`requests[0].name: Invalid value: "": ${LABEL}`]],
      [
        { requests: [{ name: 'r'.repeat(64), exactly }] },
        [
          `requests[0].name: Invalid value: "${'r'.repeat(64)}": must be no more than 63 characters`,
        ],
      ],
      [{ requests: [{ name: 'r' }] }, [`requests[0]: Required value: ${NOT_ONE}`]],
      [
        { requests: [{ name: 'r', firstAvailable: [] }] },
        [`requests[0]: Required value: ${NOT_ONE}`],
      ],
      [
        { requests: [{ ...alternatives, exactly }] },
        [`requests[0]: Invalid value: null: ${NOT_ONE}, but multiple fields are set`],
      ],
      [asking({ deviceClassName: '' }), ['requests[0].exactly.deviceClassName: Required value']],
      [
        asking({ deviceClassName: '!@#' }),
        [`requests[0].exactly.deviceClassName: Invalid value: "!@#": ${NAME_MESSAGES.subdomain}`],
      ],
      [asking({ deviceClassName: 'a.b-c.d' }), []],
      [asking({ allocationMode: 'All' }), []],
      [asking({ allocationMode: 'ExactCount', count: 2 }), []],
      [asking({ count: 2 }), []],
      [
        asking({ count: -1 }),
        ['requests[0].exactly.count: Invalid value: -1: must be greater than zero'],
      ],
      [
        asking({ allocationMode: 'All', count: 2 }),
        [
          "requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'",
        ],
      ],
      [
        asking({ allocationMode: 'other' }),
        [
          'requests[0].exactly.allocationMode: Unsupported value: "other": supported values: "All", "ExactCount"',
        ],
      ],
      [asking({ adminAccess: true }), []],
      [asking({ capacity: { requests: { 'example.com/memory': '1Gi' } } }), []],
      [asking({ selectors: [{ cel: { expression: 'device.driver == "d.example.com"' } }] }), []],
      [asking({ selectors: [{}] }), ['requests[0].exactly.selectors[0].cel: Required value']],
      [
        asking({
          selectors: [{ cel: { expression: `device.driver == "${'x'.repeat(10 * 1024 - 19)}"` } }],
        }),
        [],
      ],
      [
        asking({
          selectors: [{ cel: { expression: `device.driver == "${'x'.repeat(10 * 1024 - 18)}"` } }],
        }),
        [
          'requests[0].exactly.selectors[0].cel.expression: Too long: may not be more than 10240 bytes',
        ],
      ],
      [asking({ selectors: range(32, () => ({ cel: { expression: 'true' } })) }), []],
      [
        asking({ selectors: range(33, () => ({ cel: { expression: 'true' } })) }),
        ['requests[0].exactly.selectors: Too many: 33: must have at most 32 items'],
      ],
    ]),
  )('%s', (_, devices, errors) => {
    expect(check(devices)).toEqual(errors);
  });

  test.each(
    rows<[tolerations: readonly object[], errors: readonly string[]]>([
      [
        [
          {
            key: 'example.com/taint',
            operator: 'Exists',
            effect: 'NoExecute',
            tolerationSeconds: 3,
          },
        ],
        [],
      ],
      [[{ key: 'taint', operator: 'Equal', value: 'tainted', effect: 'NoSchedule' }], []],
      [[{ key: 'taint', value: '', effect: 'None' }], []],
      [[{ operator: 'Exists' }], []],
      [
        [{ key: '!@#', operator: 'Exists' }],
        [`[0].key: Invalid value: "!@#": ${NAME_MESSAGES.namePart}`],
      ],
      [
        [{ operator: 'Exists', value: 'a' }],
        ['[0].value: Invalid value: "a": must be empty for operator `Exists`'],
      ],
      [
        [{ key: 'a', value: '!@#' }],
        [`[0].value: Invalid value: "!@#": ${NAME_MESSAGES.labelValue}`],
      ],
      [
        [
          { key: 'a', operator: 'Exists' },
          { operator: 'x', effect: 'y' },
        ],
        [
          '[1].operator: Unsupported value: "x": supported values: "Equal", "Exists"',
          '[1].effect: Unsupported value: "y": supported values: "NoExecute", "NoSchedule", "None"',
        ],
      ],
    ]),
  )('tolerations %s', (_, tolerations, errors) => {
    const place = 'requests[0].exactly.tolerations';
    expect(check(asking({ tolerations }))).toEqual(errors.map((error) => `${place}${error}`));
    const requests = [{ name: 'r', firstAvailable: [{ name: 'a', ...exactly, tolerations }] }];
    expect(check({ requests })).toEqual(
      errors.map((error) => `requests[0].firstAvailable[0].tolerations${error}`),
    );
  });
});

describe('lists of alternatives', () => {
  const first = (...list: readonly object[]): object => ({
    requests: [{ name: 'r', firstAvailable: list }],
  });
  const alternative = (change: object = {}): object => ({ name: 'a', ...exactly, ...change });
  const AT = 'requests[0].firstAvailable';

  test.each(
    rows<[devices: object, errors: readonly string[]]>([
      [{ requests: [alternatives] }, []],
      [first(...range(8, (index) => alternative({ name: `a${index}` }))), []],
      [
        first(...range(9, (index) => alternative({ name: `a${index}` }))),
        [`${AT}: Too many: 9: must have at most 8 items`],
      ],
      [first(alternative(), alternative()), [`${AT}[1]: Duplicate value: "a"`]],
      [
        first({ name: '!@#', deviceClassName: '', allocationMode: 'x' }),
        [
          `${AT}[0].name: Invalid value: "!@#": ${LABEL}`,
          `${AT}[0].deviceClassName: Required value`,
          `${AT}[0].allocationMode: Unsupported value: "x": supported values: "All", "ExactCount"`,
        ],
      ],
      [
        first(alternative({ deviceClassName: '!@#' })),
        [`${AT}[0].deviceClassName: Invalid value: "!@#": ${NAME_MESSAGES.subdomain}`],
      ],
      [
        first(alternative({ count: -1 })),
        [`${AT}[0].count: Invalid value: -1: must be greater than zero`],
      ],
      [
        first(alternative(), alternative({ name: 'b', allocationMode: 'All', count: 1 })),
        [`${AT}[1].count: Invalid value: 1: must not be specified when allocationMode is 'All'`],
      ],
      [first(alternative({ selectors: [{}] })), [`${AT}[0].selectors[0].cel: Required value`]],
      [
        first(alternative({ selectors: range(33, () => ({ cel: { expression: 'true' } })) })),
        [`${AT}[0].selectors: Too many: 33: must have at most 32 items`],
      ],
    ]),
  )('%s', (_, devices, errors) => {
    expect(check(devices)).toEqual(errors);
  });

  test.each(
    rows<[references: readonly string[], errors: readonly string[]]>([
      [['r'], []],
      [['r/b'], []],
      [['r', 'r/a', 'r/b'], []],
      [['r/c'], [`[0]: Invalid value: "r/c": ${NO_REQUEST}`]],
      [['s/a'], [`[0]: Invalid value: "s/a": ${NO_REQUEST}`]],
      [['a'], [`[0]: Invalid value: "a": ${NO_REQUEST}`]],
      [['r/a/b'], [`[0]: Invalid value: "r/a/b": ${NO_REQUEST}`]],
    ]),
  )('references %s', (_, requests, errors) => {
    const where = { requests: [alternatives] };
    const constraint = { requests, matchAttribute: 'd.example.com/driverVersion' };
    expect(check({ ...where, constraints: [constraint] })).toEqual(
      errors.map((error) => `constraints[0].requests${error}`),
    );
    expect(check({ ...where, config: [{ requests, opaque }] })).toEqual(
      errors.map((error) => `config[0].requests${error}`),
    );
  });
});

describe('constraints', () => {
  const QUALIFIED = 'a fully qualified name must be a domain and a name separated by a slash';
  const one = (change: object): object => ({ constraints: [change] });
  const AT = 'constraints[0]';

  test.each(
    rows<[devices: object, errors: readonly string[]]>([
      [one({ matchAttribute: 'example.com/a' }), []],
      [one({ requests: ['r'], matchAttribute: 'example.com/a' }), []],
      [one({ distinctAttribute: 'example.com/a' }), []],
      [{ constraints: range(32, () => ({ matchAttribute: 'foo/bar' })) }, []],
      [
        { constraints: range(33, () => ({ matchAttribute: 'foo/bar' })) },
        ['constraints: Too many: 33: must have at most 32 items'],
      ],
      [one({ matchAttribute: 'a' }), [`${AT}.matchAttribute: Invalid value: "a": ${QUALIFIED}`]],
      [
        one({ matchAttribute: 'missing-domain' }),
        [
          `${AT}.matchAttribute: Invalid value: "missing-domain": ${NAME_MESSAGES.identifier}`,
          `${AT}.matchAttribute: Invalid value: "missing-domain": ${QUALIFIED}`,
        ],
      ],
      [
        one({ matchAttribute: '' }),
        [
          `${AT}.matchAttribute: Invalid value: "": ${NAME_MESSAGES.identifier}`,
          `${AT}.matchAttribute: Invalid value: "": ${QUALIFIED}`,
        ],
      ],
      [
        one({ distinctAttribute: 'a' }),
        [`${AT}.distinctAttribute: Invalid value: "a": ${QUALIFIED}`],
      ],
      [
        one({ matchAttribute: `example.com/${'a'.repeat(33)}` }),
        [`${AT}.matchAttribute: Too long: may not be more than 32 bytes`],
      ],
      [
        one({}),
        [
          `${AT}: Required value: exactly one of "matchAttribute" or "distinctAttribute" ` +
            'is required, but multiple fields are set',
        ],
      ],
      [
        one({ requests: ['x', 'x'], distinctAttribute: 'example.com/a' }),
        [
          `${AT}.requests[0]: Invalid value: "x": ${NO_REQUEST}`,
          `${AT}.requests[1]: Invalid value: "x": ${NO_REQUEST}`,
          `${AT}.requests[1]: Duplicate value: "x"`,
        ],
      ],
      [
        one({ requests: ['r', '!@#'], matchAttribute: 'example.com/a' }),
        [
          `${AT}.requests[1]: Invalid value: "!@#": ${LABEL}`,
          `${AT}.requests[1]: Invalid value: "!@#": ${NO_REQUEST}`,
        ],
      ],
      [
        one({ requests: range(33, (index) => `r${index}`), matchAttribute: 'example.com/a' }),
        [`${AT}.requests: Too many: 33: must have at most 32 items`],
      ],
    ]),
  )('%s', (_, devices, errors) => {
    expect(check(devices)).toEqual(errors);
  });
});

describe('configuration', () => {
  const one = (change: object): object => ({ config: [change] });
  const AT = 'config[0]';

  test.each(
    rows<[devices: object, errors: readonly string[]]>([
      [one({ opaque }), []],
      [one({ requests: ['r'], opaque }), []],
      [{ config: range(32, () => ({ opaque })) }, []],
      [
        { config: range(33, () => ({ opaque })) },
        ['config: Too many: 33: must have at most 32 items'],
      ],
      [one({}), [`${AT}.opaque: Required value`]],
      [
        one({ requests: ['a/b/c'], opaque }),
        [`${AT}.requests[0]: Invalid value: "a/b/c": ${NO_REQUEST}`],
      ],
      [
        one({ requests: ['r', '!@#'], opaque }),
        [
          `${AT}.requests[1]: Invalid value: "!@#": ${LABEL}`,
          `${AT}.requests[1]: Invalid value: "!@#": ${NO_REQUEST}`,
        ],
      ],
      [one({ requests: ['r', 'r'], opaque }), [`${AT}.requests[1]: Duplicate value: "r"`]],
      [one({ opaque: { ...opaque, driver: '' } }), [`${AT}.opaque.driver: Required value`]],
      [
        one({ opaque: { ...opaque, driver: '!@#' } }),
        [`${AT}.opaque.driver: Invalid value: "!@#": ${NAME_MESSAGES.subdomain}`],
      ],
      [
        one({ opaque: { ...opaque, driver: 'd'.repeat(64) } }),
        [`${AT}.opaque.driver: Too long: may not be more than 63 bytes`],
      ],
      [
        one({ opaque: { driver: 'd', parameters: null } }),
        [`${AT}.opaque.parameters: Required value`],
      ],
      [
        one({ opaque: { driver: 'd', parameters: 'hello-world' } }),
        [`${AT}.opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object`],
      ],
      [
        one({ opaque: { driver: 'd', parameters: [{}] } }),
        [`${AT}.opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object`],
      ],
      [one({ opaque: { driver: 'd', parameters: {} } }), []],
      [one({ opaque: { driver: 'd', parameters: parameters(10 * 1024) } }), []],
      [
        one({ opaque: { driver: 'd', parameters: parameters(10 * 1024 + 1) } }),
        [`${AT}.opaque.parameters: Too long: may not be more than 10240 bytes`],
      ],
      [
        { config: [{ opaque }, {}, { opaque: { driver: '', parameters: null } }] },
        [
          'config[1].opaque: Required value',
          'config[2].opaque.driver: Required value',
          'config[2].opaque.parameters: Required value',
        ],
      ],
    ]),
  )('%s', (_, devices, errors) => {
    expect(check(devices)).toEqual(errors);
  });
});

describe('updates', () => {
  const large = { config: [{ opaque: { driver: 'd', parameters: parameters(10 * 1024 + 1) } }] };

  test.each(
    rows<[now: object, old: object, fields: readonly string[]]>([
      [{}, {}, []],
      [large, large, []],
      [{ requests: [{ name: 'r', exactly: { deviceClassName: 'c2' } }] }, {}, ['spec']],
      [{ requests: [{ name: 'r', exactly: { deviceClassName: 'c', count: 2 } }] }, {}, ['spec']],
      [{ config: [{ opaque }] }, {}, ['spec']],
      [{ requests: [alternatives] }, { requests: [alternatives] }, []],
    ]),
  )('%s', (_, now, old, fields) => {
    const errors = validation.validateResourceClaimUpdate(claim(now), claim(old));
    expect(errors.map(({ field }) => field)).toEqual(fields);
    for (const { detail } of errors) expect(detail).toBe('field is immutable');
  });
});

describe('templates', () => {
  const templateOf = variation<resource.ResourceClaimTemplate>(
    'resource/v1.ResourceClaimTemplate',
    {
      metadata: good.metadata,
      spec: { spec: good.spec },
    },
  );
  const template = (spec: object): resource.ResourceClaimTemplate => templateOf({ spec });
  const FORBIDDEN = (name: string): string => `spec.metadata.${name}: Forbidden: cannot be set`;

  test.each(
    rows<[spec: object, errors: readonly string[]]>([
      [{}, []],
      [
        {
          metadata: { labels: { 'apps.kubernetes.io/name': 'test' }, annotations: { foo: 'bar' } },
        },
        [],
      ],
      [
        { metadata: { labels: { 'hello-world': 'spaces not allowed' } } },
        [`spec.metadata.labels: Invalid value: "spaces not allowed": ${NAME_MESSAGES.labelValue}`],
      ],
      [
        { metadata: { annotations: { '!@#': 'hello world' } } },
        [`spec.metadata.annotations: Invalid value: "!@#": ${NAME_MESSAGES.namePart}`],
      ],
      [{ metadata: { name: 'a' } }, [FORBIDDEN('name')]],
      [{ metadata: { generateName: 'a-' } }, [FORBIDDEN('generateName')]],
      [{ metadata: { namespace: 'a' } }, [FORBIDDEN('namespace')]],
      [{ metadata: { uid: 'ac051fac-2ead-46d9-b8b4-4e0fbeb7455d' } }, [FORBIDDEN('uID')]],
      [{ metadata: { resourceVersion: '1' } }, [FORBIDDEN('resourceVersion')]],
      [{ metadata: { generation: 100 } }, [FORBIDDEN('generation')]],
      [
        { metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } },
        [FORBIDDEN('creationTimestamp')],
      ],
      [{ metadata: { deletionGracePeriodSeconds: 10 } }, [FORBIDDEN('deletionGracePeriodSeconds')]],
      [
        { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'pod', name: 'a', uid: '1' }] } },
        [FORBIDDEN('ownerReferences')],
      ],
      [{ metadata: { finalizers: ['example.com/foo'] } }, [FORBIDDEN('finalizers')]],
      [
        {
          metadata: {
            managedFields: [
              { manager: 'a', operation: 'Apply', apiVersion: 'apps/v1', fieldsType: 'FieldsV1' },
            ],
          },
        },
        [FORBIDDEN('managedFields')],
      ],
      [
        { spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: '!@#' } }] } } },
        [
          `spec.spec.devices.requests[0].exactly.deviceClassName: Invalid value: "!@#": ${NAME_MESSAGES.subdomain}`,
        ],
      ],
      [
        { spec: { devices: { requests: [{ name: 'r' }] } } },
        [
          'spec.spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required',
        ],
      ],
      [{ spec: { devices: { requests: [alternatives] } } }, []],
      [
        { spec: { devices: { requests: [{ ...alternatives, exactly }] } } },
        [
          'spec.spec.devices.requests[0]: Invalid value: null: exactly one of `exactly` or ' +
            '`firstAvailable` is required, but multiple fields are set',
        ],
      ],
      [
        { spec: { devices: { config: [{ requests: ['r/a'], opaque }] } } },
        [`spec.spec.devices.config[0].requests[0]: Invalid value: "r/a": ${NO_REQUEST}`],
      ],
      [
        { spec: { devices: { constraints: [{ requests: ['s'], matchAttribute: 'a/b' }] } } },
        [`spec.spec.devices.constraints[0].requests[0]: Invalid value: "s": ${NO_REQUEST}`],
      ],
    ]),
  )('%s', (_, spec, errors) => {
    expect(messages(validation.validateResourceClaimTemplate(template(spec)))).toEqual(errors);
  });

  test.each(
    rows<[now: object, old: object, fields: readonly string[]]>([
      [{}, {}, []],
      [{ metadata: { labels: { a: 'b' } } }, {}, ['spec']],
      [
        { spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c2' } }] } } },
        {},
        ['spec'],
      ],
      [
        {
          spec: {
            devices: {
              config: [{ opaque: { driver: 'd', parameters: parameters(10 * 1024 + 1) } }],
            },
          },
        },
        {
          spec: {
            devices: {
              config: [{ opaque: { driver: 'd', parameters: parameters(10 * 1024 + 1) } }],
            },
          },
        },
        [],
      ],
    ]),
  )('update %s', (_, now, old, fields) => {
    const errors = validation.validateResourceClaimTemplateUpdate(template(now), template(old));
    expect(errors.map(({ field }) => field)).toEqual(fields);
  });
});
