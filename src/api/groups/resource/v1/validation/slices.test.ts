// Errors of resource slices: pools, nodes, devices, attributes, taints, counters.

import { describe, expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, range, rows, variation } from '#api/testing/variation.ts';
import type * as resource from '../types.ts';
import * as validation from './index.ts';

const sliceOf = variation<resource.ResourceSlice>('resource/v1.ResourceSlice', {
  metadata: { name: 'it' },
  spec: {
    driver: 'd.example.com',
    pool: { name: 'p', generation: 0, resourceSliceCount: 1 },
    nodeName: 'n',
  },
});
const slice = (spec: object): resource.ResourceSlice => sliceOf({ spec });
const check = (spec: object): string[] => messages(validation.validateResourceSlice(slice(spec)));

const attributes = {
  int: { int: 42 },
  string: { string: 'hello world' },
  version: { version: '1.2.3' },
  bool: { bool: true },
};
const capacity = { memory: { value: '1Gi' } };
const counters = { memory: { value: '1Gi' } };
const manyCounters = (count: number): object =>
  Object.fromEntries(range(count, (index) => [`memory-${index}`, { value: '1Gi' }]));
const devices = (count: number, change: object = {}): object[] =>
  range(count, (index) => ({ name: `device-${index}`, attributes, capacity, ...change }));
const device = (change: object): object => ({ devices: [{ name: 'a', ...change }] });
const in_ = (...values: readonly string[]): object => ({
  matchExpressions: [{ key: 'foo', operator: 'In', values }],
});
const SUBDOMAIN = NAME_MESSAGES.subdomain;
const AT = 'spec.devices[0]';

describe('a slice', () => {
  const WHERE =
    'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  const worker = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['worker'] }] };
  const long = `${'x/'.repeat(126)}xy`;

  test.each(
    rows<[spec: object, errors: readonly string[]]>([
      [{}, []],
      [{ devices: [] }, []],
      [{ devices: devices(128) }, []],
      [{ devices: devices(129) }, ['spec.devices: Too many: 129: must have at most 128 items']],
      [{ driver: '' }, ['spec.driver: Required value']],
      [{ driver: '!@#' }, [`spec.driver: Invalid value: "!@#": ${SUBDOMAIN}`]],
      [{ driver: 'd'.repeat(64) }, ['spec.driver: Too long: may not be more than 63 bytes']],
      [{ driver: 'D.Example.com' }, []],
      [{ pool: { name: 'x'.repeat(253) } }, []],
      [{ pool: { name: 'a/b/c' } }, []],
      [{ pool: { name: '' } }, ['spec.pool.name: Required value']],
      [{ pool: { name: '!@#' } }, [`spec.pool.name: Invalid value: "!@#": ${SUBDOMAIN}`]],
      [
        { pool: { name: '!@#/a/&%' } },
        [
          `spec.pool.name: Invalid value: "!@#": ${SUBDOMAIN}`,
          `spec.pool.name: Invalid value: "&%": ${SUBDOMAIN}`,
        ],
      ],
      [
        { pool: { name: long, generation: -1, resourceSliceCount: 0 } },
        [
          'spec.pool.name: Too long: may not be more than 253 bytes',
          'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero',
          'spec.pool.generation: Invalid value: -1: must be greater than or equal to zero',
        ],
      ],
      // Nodes.
      [{ nodeName: '!@#' }, [`spec.nodeName: Invalid value: "!@#": ${SUBDOMAIN}`]],
      [
        { nodeName: '', allNodes: true },
        ['spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string'],
      ],
      [
        { nodeName: '' },
        [
          'spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string',
          `spec: Required value: ${WHERE}`,
        ],
      ],
      [{ nodeName: null }, [`spec: Required value: ${WHERE}`]],
      [{ nodeName: null, allNodes: true }, []],
      [
        { allNodes: false },
        ['spec.allNodes: Invalid value: false: must be either unset or set to true'],
      ],
      [
        { perDeviceNodeSelection: false },
        ['spec.perDeviceNodeSelection: Invalid value: false: must be either unset or set to true'],
      ],
      [
        { allNodes: true },
        [
          `spec: Invalid value: "{\`nodeName\`, \`allNodes\`}": ${WHERE}, but multiple fields are set`,
        ],
      ],
      [
        { nodeSelector: { nodeSelectorTerms: [worker] } },
        [
          `spec: Invalid value: "{\`nodeName\`, \`nodeSelector\`}": ${WHERE}, but multiple fields are set`,
        ],
      ],
      [
        {
          nodeSelector: { nodeSelectorTerms: [worker] },
          allNodes: true,
          perDeviceNodeSelection: true,
        },
        [
          'spec: Invalid value: "{`nodeName`, `nodeSelector`, `allNodes`, ' +
            `\`perDeviceNodeSelection\`}": ${WHERE}, but multiple fields are set`,
        ],
      ],
      [{ nodeName: null, nodeSelector: { nodeSelectorTerms: [worker] } }, []],
      [{ nodeName: null, nodeSelector: { nodeSelectorTerms: [in_('1')] } }, []],
      [
        { nodeName: null, nodeSelector: { nodeSelectorTerms: [in_('-1')] } },
        [
          'spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid ' +
            `value: "-1": ${NAME_MESSAGES.labelValue}`,
        ],
      ],
      [
        { nodeName: null, nodeSelector: {} },
        [
          'spec.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term',
          'spec.nodeSelector.nodeSelectorTerms: Invalid value: null: must have exactly one node selector term',
        ],
      ],
      // Nodes per device.
      [
        { perDeviceNodeSelection: true, ...device({ allNodes: true }) },
        [
          `spec: Invalid value: "{\`nodeName\`, \`perDeviceNodeSelection\`}": ${WHERE}, but multiple fields are set`,
        ],
      ],
    ]),
  )('%s', (_, spec, errors) => {
    expect(check(spec)).toEqual(errors);
  });

  test('several node selector terms are rejected', () => {
    const found = check({
      nodeName: null,
      nodeSelector: { nodeSelectorTerms: [in_('a'), in_('b')] },
    });
    expect(found).toEqual([
      expect.stringMatching(
        /^spec\.nodeSelector\.nodeSelectorTerms: Invalid value: .*: must have exactly one/,
      ),
    ]);
  });
});

describe('devices with their own nodes', () => {
  const EACH =
    'exactly one of `nodeName`, `nodeSelector`, ' +
    'or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ' +
    'ResourceSlice spec';
  const NOT_EACH =
    '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` ' +
    'is set to true in the ResourceSlice spec';
  const selector = (...terms: readonly object[]): object => ({
    nodeSelector: { nodeSelectorTerms: terms },
  });

  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{ nodeName: 'worker' }, []],
      [{ allNodes: true }, []],
      [selector(in_('a')), []],
      [{}, [`: Required value: ${EACH}`]],
      [
        { nodeName: '', allNodes: false },
        [
          '.nodeName: Invalid value: "": must not be empty',
          '.allNodes: Invalid value: false: must be either unset or set to true',
          `: Required value: ${EACH}`,
        ],
      ],
      [
        { nodeName: 'worker', allNodes: true },
        [`: Invalid value: "{\`nodeName\`, \`allNodes\`}": ${EACH}`],
      ],
      [
        { nodeName: 'worker', ...selector(in_('a')) },
        [`: Invalid value: "{\`nodeName\`, \`nodeSelector\`}": ${EACH}`],
      ],
      [{ nodeName: '!@#' }, [`.nodeName: Invalid value: "!@#": ${SUBDOMAIN}`]],
      [
        selector(),
        [
          '.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term',
        ],
      ],
    ]),
  )('%s', (_, change, errors) => {
    const found = check({ nodeName: null, perDeviceNodeSelection: true, ...device(change) });
    expect(found).toEqual(errors.map((error) => `${AT}${error}`));
  });

  test.each(
    rows<[change: object]>([
      [{ nodeName: 'n' }],
      [{ allNodes: true }],
      [{ allNodes: false }],
      [selector(in_('a'))],
    ]),
  )('not when the slice says where: %s', (_, change) => {
    expect(check(device(change))).toEqual([`${AT}: Invalid value: null: ${NOT_EACH}`]);
  });
});

describe('devices', () => {
  const TOO_MANY = 'the total number of attributes and capacities must not exceed 32';
  const attribute = (change: object): object => device({ attributes: { a: change } });
  const named = (name: string): object => device({ attributes: { [name]: { string: 'z' } } });
  const many = (count: number, of: object): object =>
    Object.fromEntries(range(count, (index) => [`a_${index}`, of]));
  const long = 'x'.repeat(65);
  const LONG = `${'x'.repeat(63)}/${'y'.repeat(33)}`;

  test.each(
    rows<[spec: object, errors: readonly string[]]>([
      [{ devices: devices(2) }, []],
      [
        { devices: [...devices(1), { name: '!@#' }] },
        [`spec.devices[1].name: Invalid value: "!@#": ${NAME_MESSAGES.label}`],
      ],
      [
        { devices: [...devices(2), ...devices(1)] },
        ['spec.devices[2]: Duplicate value: "device-0"'],
      ],
      // Attributes.
      [attribute({ bool: false }), []],
      [attribute({ int: 0 }), []],
      [attribute({ string: '' }), []],
      [attribute({ string: 'x'.repeat(64) }), []],
      [attribute({ version: '1.2.3-rc.1+build.20240305' }), []],
      [
        attribute({}),
        [`${AT}.attributes[a]: Invalid value: "": exactly one value must be specified`],
      ],
      [
        attribute({ string: 'x', version: '1.2.3' }),
        [
          `${AT}.attributes[a]: Invalid value: {"string":"x","version":"1.2.3"}: exactly one value must be specified`,
        ],
      ],
      [
        attribute({ string: long }),
        [`${AT}.attributes[a].string: Too long: may not be more than 64 bytes`],
      ],
      [
        attribute({ version: long }),
        [
          `${AT}.attributes[a].version: Invalid value: "${long}": must be a string ` +
            'compatible with semver.org spec 2.0.0',
          `${AT}.attributes[a].version: Too long: may not be more than 64 bytes`,
        ],
      ],
      ...['', '1.2', '01.2.3', '1.2.3-', '1.2.3+', 'v1.2.3', '1.2.3-01'].map(
        (version): [object, string[]] => [
          attribute({ version }),
          [
            `${AT}.attributes[a].version: Invalid value: "${version}": must be a string ` +
              'compatible with semver.org spec 2.0.0',
          ],
        ],
      ),
      [named('x'.repeat(32)), []],
      [named(`${'x'.repeat(63)}/${'y'.repeat(32)}`), []],
      [named('!@#'), [`${AT}.attributes: Invalid value: "!@#": ${NAME_MESSAGES.identifier}`]],
      [
        named('.'.repeat(33)),
        [
          `${AT}.attributes: Too long: may not be more than 32 bytes`,
          `${AT}.attributes: Invalid value: "${'.'.repeat(33)}": ${NAME_MESSAGES.identifier}`,
        ],
      ],
      [
        named(`${'_'.repeat(64)}/y`),
        [
          `${AT}.attributes: Too long: may not be more than 63 bytes`,
          `${AT}.attributes: Invalid value: "${'_'.repeat(64)}": ${SUBDOMAIN}`,
        ],
      ],
      [
        named(`${'x'.repeat(64)}/${'y'.repeat(33)}`),
        [
          `${AT}.attributes: Too long: may not be more than 63 bytes`,
          `${AT}.attributes: Too long: may not be more than 32 bytes`,
        ],
      ],
      [
        named('/'),
        [
          `${AT}.attributes: Invalid value: "": the domain must not be empty`,
          `${AT}.attributes: Invalid value: "": the name must not be empty`,
        ],
      ],
      [named('/b'), [`${AT}.attributes: Invalid value: "": the domain must not be empty`]],
      [named('a/'), [`${AT}.attributes: Invalid value: "": the name must not be empty`]],
      [named('a/b/c'), []],
      // Long names are shortened in paths.
      [
        device({ attributes: { [LONG]: {} } }),
        [
          `${AT}.attributes: Too long: may not be more than 32 bytes`,
          `${AT}.attributes[${LONG.slice(0, 47)}...${LONG.slice(-46)}]: Invalid value: "": ` +
            'exactly one value must be specified',
        ],
      ],
      [device({ attributes: many(32, { bool: true }) }), []],
      [device({ capacity: many(32, { value: '1Gi' }) }), []],
      [device({ attributes: many(33, { bool: true }) }), [`${AT}: Invalid value: 33: ${TOO_MANY}`]],
      [
        device({ attributes: many(32, { bool: true }), capacity }),
        [`${AT}: Invalid value: 33: ${TOO_MANY}`],
      ],
      [
        device({ capacity: { '!@#': { value: '1' } } }),
        [`${AT}.capacity: Invalid value: "!@#": ${NAME_MESSAGES.identifier}`],
      ],
      [device({ capacity: { 'a/b/c': { value: '1' } } }), []],
    ]),
  )('%s', (_, spec, errors) => {
    expect(check(spec)).toEqual(errors);
  });
});

describe('taints', () => {
  const taint = { key: 'example.com/taint', effect: 'NoExecute' };
  const NO_NAME = 'name part must be non-empty';

  test.each(
    rows<[taints: readonly object[], errors: readonly string[]]>([
      [[taint], []],
      [
        [
          {
            key: 'taint',
            value: 'tainted',
            effect: 'NoSchedule',
            timeAdded: '2026-01-01T00:00:00Z',
          },
        ],
        [],
      ],
      [[{ ...taint, effect: 'None' }], []],
      [
        [taint, { key: '', effect: '' }],
        [
          `[1].key: Invalid value: "": ${NO_NAME}`,
          `[1].key: Invalid value: "": ${NAME_MESSAGES.namePart}`,
          '[1].effect: Required value',
        ],
      ],
      [
        [taint, taint, { key: '!@#', value: '!@#', effect: 'some-other-effect' }],
        [
          `[2].key: Invalid value: "!@#": ${NAME_MESSAGES.namePart}`,
          `[2].value: Invalid value: "!@#": ${NAME_MESSAGES.labelValue}`,
          '[2].effect: Unsupported value: "some-other-effect": supported values: "NoExecute", "NoSchedule", "None"',
        ],
      ],
      [range(16, () => taint), []],
      [range(17, () => taint), [': Too many: 17: must have at most 16 items']],
    ]),
  )('%s', (_, taints, errors) => {
    expect(check(device({ taints }))).toEqual(errors.map((error) => `${AT}.taints${error}`));
  });

  test('reduce the limit of devices', () => {
    expect(check({ devices: devices(64, { taints: [taint] }) })).toEqual([]);
    expect(check({ devices: [...devices(64), { name: 'a', taints: [taint] }] })).toEqual([
      'spec.devices: Too many: 65: must have at most 64 items',
    ]);
  });
});

describe('counters', () => {
  const set = (change: object = {}): object => ({ name: 'a', counters, ...change });
  const use = (change: object = {}): object => ({ counterSet: 'a', counters, ...change });
  const uses = (...list: readonly object[]): object => device({ consumesCounters: list });
  const SETS = 'spec.sharedCounters';
  const USES = `${AT}.consumesCounters`;

  test.each(
    rows<[spec: object, errors: readonly string[]]>([
      [{ sharedCounters: [set()] }, []],
      [{ sharedCounters: range(8, (index) => set({ name: `a${index}` })) }, []],
      [
        { sharedCounters: range(9, (index) => set({ name: `a${index}` })) },
        [`${SETS}: Too many: 9: must have at most 8 items`],
      ],
      [
        { sharedCounters: [set()], devices: devices(1) },
        ['spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed'],
      ],
      [{ sharedCounters: [set({ name: '' })] }, [`${SETS}[0].name: Required value`]],
      [
        { sharedCounters: [set({ name: '!@#' })] },
        [`${SETS}[0].name: Invalid value: "!@#": ${NAME_MESSAGES.label}`],
      ],
      [{ sharedCounters: [set({ counters: {} })] }, [`${SETS}[0].counters: Required value`]],
      [{ sharedCounters: [set({ counters: null })] }, [`${SETS}[0].counters: Required value`]],
      [
        { sharedCounters: [set({ counters: { '!@#': { value: '1Gi' } } })] },
        [`${SETS}[0].counters: Invalid value: "!@#": ${NAME_MESSAGES.label}`],
      ],
      [{ sharedCounters: [set(), set()] }, [`${SETS}[1]: Duplicate value: "a"`]],
      [{ sharedCounters: [set({ counters: manyCounters(32) })] }, []],
      [
        { sharedCounters: [set({ counters: manyCounters(33) })] },
        [`${SETS}[0].counters: Too many: 33: must have at most 32 items`],
      ],
      [uses(use()), []],
      [uses(use(), use({ counterSet: 'b' })), []],
      [
        uses(...range(3, (index) => use({ counterSet: `c${index}` }))),
        [`${USES}: Too many: 3: must have at most 2 items`],
      ],
      [uses(use({ counterSet: '' })), [`${USES}[0].counterSet: Required value`]],
      [
        uses(use({ counterSet: '!@#' })),
        [`${USES}[0].counterSet: Invalid value: "!@#": ${NAME_MESSAGES.label}`],
      ],
      [uses(use(), use()), [`${USES}[1]: Duplicate value: "a"`]],
      [uses(use({ counters: {} })), [`${USES}[0].counters: Required value`]],
      [
        uses(use({ counters: { '!@#': { value: '1' } } })),
        [`${USES}[0].counters: Invalid value: "!@#": ${NAME_MESSAGES.label}`],
      ],
      [uses(use({ counters: manyCounters(32) })), []],
      [
        uses(use({ counters: manyCounters(33) })),
        [`${USES}[0].counters: Too many: 33: must have at most 32 items`],
      ],
      [{ devices: devices(64, { consumesCounters: [use()] }) }, []],
      [
        { devices: [...devices(64), { name: 'a', consumesCounters: [use()] }] },
        ['spec.devices: Too many: 65: must have at most 64 items'],
      ],
    ]),
  )('%s', (_, spec, errors) => {
    expect(check(spec)).toEqual(errors);
  });
});

describe('binding conditions', () => {
  test.each(
    rows<
      [
        conditions: readonly string[] | null,
        failures: readonly string[] | null,
        errors: readonly string[],
      ]
    >([
      [['example.com/a', 'b'], ['example.com/c', 'd'], []],
      [['a', 'b', 'c', 'd'], ['e', 'f', 'g', 'h'], []],
      [
        ['a', 'b', 'c', 'd', 'e'],
        ['f'],
        ['.bindingConditions: Too many: 5: must have at most 4 items'],
      ],
      [
        ['f'],
        ['a', 'b', 'c', 'd', 'e'],
        ['.bindingFailureConditions: Too many: 5: must have at most 4 items'],
      ],
      [
        ['a', 'b!'],
        ['c'],
        [`.bindingConditions[1]: Invalid value: "b!": ${NAME_MESSAGES.namePart}`],
      ],
      [
        ['a'],
        ['c!', 'd'],
        [`.bindingFailureConditions[0]: Invalid value: "c!": ${NAME_MESSAGES.namePart}`],
      ],
      [
        null,
        ['a'],
        [
          '.bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions',
        ],
      ],
      [
        ['a'],
        null,
        [
          '.bindingFailureConditions: Invalid value: null: bindingFailureConditions are ' +
            'required to use bindingConditions',
        ],
      ],
      [['a', 'a'], ['b'], ['.bindingConditions[1]: Duplicate value: "a"']],
      [['a'], ['b', 'b'], ['.bindingFailureConditions[1]: Duplicate value: "b"']],
      [
        ['a', 'b'],
        ['a', 'c'],
        [
          '.bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must ' +
            'not overlap with bindingConditions',
        ],
      ],
    ]),
  )('%s', (_, bindingConditions, bindingFailureConditions, errors) => {
    expect(
      check(device({ bindsToNode: true, bindingConditions, bindingFailureConditions })),
    ).toEqual(errors.map((error) => `${AT}${error}`));
  });
});

describe('updates', () => {
  const BAD = { key: 'unhealthy-mem', effect: 'some-other-effect' };
  const GOOD = { key: 'unhealthy-power', effect: 'NoExecute' };
  const tainted = (...taints: readonly object[]): object => ({ name: 'a', taints });
  const NOT_AN_EFFECT =
    'Unsupported value: "some-other-effect": supported values: "NoExecute", "NoSchedule", "None"';
  const selecting = (value: string): object => ({
    nodeName: null,
    nodeSelector: { nodeSelectorTerms: [in_(value)] },
  });

  test.each(
    rows<[now: object, old: object, errors: readonly string[]]>([
      [{}, {}, []],
      [
        { devices: devices(3), pool: { generation: 2, resourceSliceCount: 3 } },
        { devices: devices(1) },
        [],
      ],
      [{ nodeName: 'm' }, {}, ['spec.nodeName: Invalid value: "m": field is immutable']],
      [{ driver: 'e' }, {}, ['spec.driver: Invalid value: "e": field is immutable']],
      [{ pool: { name: 'q' } }, {}, ['spec.pool.name: Invalid value: "q": field is immutable']],
      [
        { pool: { name: 'q' }, driver: 'e', nodeName: 'm' },
        {},
        [
          'spec.pool.name: Invalid value: "q": field is immutable',
          'spec.driver: Invalid value: "e": field is immutable',
          'spec.nodeName: Invalid value: "m": field is immutable',
        ],
      ],
      [selecting('b'), selecting('a'), []],
      [
        selecting('-1'),
        selecting('a'),
        [
          'spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid ' +
            `value: "-1": ${NAME_MESSAGES.labelValue}`,
        ],
      ],
      [
        { devices: [tainted(GOOD, BAD)] },
        { devices: [tainted(GOOD)] },
        [`${AT}.taints[1].effect: ${NOT_AN_EFFECT}`],
      ],
      [{ devices: [{ ...tainted(GOOD, BAD), attributes }] }, { devices: [tainted(GOOD, BAD)] }, []],
      [
        { devices: [tainted(GOOD, BAD), { ...tainted(GOOD, BAD), name: 'b' }] },
        { devices: [tainted(GOOD, BAD)] },
        [`spec.devices[1].taints[1].effect: ${NOT_AN_EFFECT}`],
      ],
    ]),
  )('to %s', (_, now, old, errors) => {
    expect(messages(validation.validateResourceSlice(slice(now), slice(old)))).toEqual(errors);
  });
});
