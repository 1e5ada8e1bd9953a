// The owners after histories of applies and updates. The cases are those of the tests of
// Kubernetes' structured merge.

import { describe, expect, test } from 'vitest';
import { runWaitingSteps } from '#machinery/turn.ts';
import { parseYaml } from '../codec/yaml.ts';
import { ConflictsError } from './conflicts.ts';
import { FieldSet } from './field-set.ts';
import { managerId, type Manager, type Operation } from './managers.ts';
import { describePath } from './path-element.ts';
import { applyManagers, updateManagers, type Merging, type Versions } from './updater.ts';
import {
  any,
  atomicList,
  expectedOwners,
  History,
  keyed,
  map,
  number,
  set,
  setOf,
  string,
  struct,
} from './testing.ts';
import { deduced, type MergeType } from './merge-type.ts';

const names = keyed(['name'], struct({ name: string, value: number }));
const mapOfMapsRecursive: MergeType = {
  map: {
    atomic: false,
    fields: new Map(),
    get values() {
      return mapOfMapsRecursive;
    },
  },
};
const nested = struct({
  list: names,
  listOfLists: keyed(['name'], struct({ name: string, value: setOf(string) })),
  listOfMaps: keyed(['name'], struct({ name: string, value: map(string) })),
  mapOfLists: map(setOf(string)),
  mapOfMaps: map(map(string)),
  mapOfMapsRecursive,
  struct: struct({ name: string, value: number }),
});

type Step = readonly [
  'apply' | 'force' | 'update',
  manager: string,
  object: string,
  version?: string,
];
type Owners = Readonly<Record<`${Operation} ${string}`, FieldSet>>;

function play(type: MergeType | Versions, steps: readonly Step[]): History {
  const history = new History(type);
  for (const [verb, manager, object, version = 'v1'] of steps) {
    const write = { manager, object, version };
    if (verb === 'update') history.update(write);
    else history.apply(write, verb === 'force');
  }
  return history;
}

/** Removes nulls: the decoder treats them as absent. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, withoutNulls(item)]),
  );
}

function check(
  type: MergeType | Versions,
  steps: readonly Step[],
  object: string | undefined,
  owners: Owners,
): void {
  const history = play(type, steps);
  if (object !== undefined)
    expect(withoutNulls(history.object) ?? {}).toEqual(parseYaml(object) ?? {});
  expect(history.owners()).toEqual(expectedOwners(owners));
}

function conflicts(type: MergeType | Versions, steps: readonly Step[], last: Step): string[] {
  const history = play(type, steps);
  try {
    history.apply({ manager: last[1], object: last[2] });
  } catch (error) {
    if (!(error instanceof ConflictsError)) throw error;
    return error.conflicts.map(({ manager, path }) => `${manager.manager} ${describePath(path)}`);
  }
  return [];
}

const a = { name: 'a' };
const b = { name: 'b' };
const c = { name: 'c' };
const d = { name: 'd' };

describe('one applier, nested types', () => {
  test.each<[string, string, string, string, Owners]>([
    [
      'a list in a list changes',
      'listOfLists: [{name: a, value: [b, c]}]',
      'listOfLists: [{name: a, value: [a, c]}]',
      'listOfLists: [{name: a, value: [c, a]}]',
      {
        'Apply default': set(
          ['listOfLists', a],
          ['listOfLists', a, 'name'],
          ['listOfLists', a, 'value', { '=': 'a' }],
          ['listOfLists', a, 'value', { '=': 'c' }],
        ),
      },
    ],
    [
      'another item, another list in it',
      'listOfLists: [{name: a, value: [b, c]}]',
      'listOfLists: [{name: b, value: [a, c]}]',
      'listOfLists: [{name: b, value: [a, c]}]',
      {
        'Apply default': set(
          ['listOfLists', b],
          ['listOfLists', b, 'name'],
          ['listOfLists', b, 'value', { '=': 'a' }],
          ['listOfLists', b, 'value', { '=': 'c' }],
        ),
      },
    ],
    [
      'a map in a list changes',
      'listOfMaps: [{name: a, value: {b: "x", c: "y"}}]',
      'listOfMaps: [{name: a, value: {a: "x", c: "z"}}]',
      'listOfMaps: [{name: a, value: {a: "x", c: "z"}}]',
      {
        'Apply default': set(
          ['listOfMaps', a],
          ['listOfMaps', a, 'name'],
          ['listOfMaps', a, 'value', 'a'],
          ['listOfMaps', a, 'value', 'c'],
        ),
      },
    ],
    [
      'a list in a map changes',
      'mapOfLists: {a: [b, c]}',
      'mapOfLists: {a: [a, c]}',
      'mapOfLists: {a: [c, a]}',
      {
        'Apply default': set(
          ['mapOfLists', 'a'],
          ['mapOfLists', 'a', { '=': 'a' }],
          ['mapOfLists', 'a', { '=': 'c' }],
        ),
      },
    ],
    [
      'another key, another list in it',
      'mapOfLists: {a: [b, c]}',
      'mapOfLists: {b: [a, c]}',
      'mapOfLists: {b: [a, c]}',
      {
        'Apply default': set(
          ['mapOfLists', 'b'],
          ['mapOfLists', 'b', { '=': 'a' }],
          ['mapOfLists', 'b', { '=': 'c' }],
        ),
      },
    ],
    [
      'a map in a map changes',
      'mapOfMaps: {a: {b: "x", c: "y"}}',
      'mapOfMaps: {a: {a: "x", c: "z"}}',
      'mapOfMaps: {a: {a: "x", c: "z"}}',
      {
        'Apply default': set(['mapOfMaps', 'a'], ['mapOfMaps', 'a', 'a'], ['mapOfMaps', 'a', 'c']),
      },
    ],
    [
      'another key, another map in it',
      'mapOfMaps: {a: {b: "x", c: "y"}}',
      'mapOfMaps: {b: {a: "x", c: "z"}}',
      'mapOfMaps: {b: {a: "x", c: "z"}}',
      {
        'Apply default': set(['mapOfMaps', 'b'], ['mapOfMaps', 'b', 'a'], ['mapOfMaps', 'b', 'c']),
      },
    ],
    [
      'a key in the middle changes',
      'mapOfMapsRecursive: {a: {b: {c: {}}}}',
      'mapOfMapsRecursive: {a: {d: {c: {}}}}',
      'mapOfMapsRecursive: {a: {d: {c: {}}}}',
      {
        'Apply default': set(
          ['mapOfMapsRecursive', 'a'],
          ['mapOfMapsRecursive', 'a', 'd'],
          ['mapOfMapsRecursive', 'a', 'd', 'c'],
        ),
      },
    ],
    ['a struct goes', 'struct: {name: a, value: 1}', '', '', {}],
    [
      'a struct is left empty',
      'struct: {name: a}',
      'struct: null',
      '',
      { 'Apply default': set(['struct']) },
    ],
  ])('%s', (_, first, second, object, owners) => {
    // The order of a merged set is not checked.
    const history = play(nested, [
      ['apply', 'default', first],
      ['apply', 'default', second],
    ]);
    const sorted = (value: unknown): unknown =>
      JSON.parse(
        JSON.stringify(value, (__, item: unknown) =>
          Array.isArray(item) ? item.toSorted() : item,
        ),
      );
    expect(sorted(withoutNulls(history.object) ?? {})).toEqual(sorted(parseYaml(object) ?? {}));
    expect(history.owners()).toEqual(expectedOwners(owners));
  });
});

describe('appliers and updaters of a struct', () => {
  const steps = (last: string, changed = '{name: a, value: 1}'): Step[] => [
    ['apply', 'default', 'struct: {name: a}'],
    ['update', 'controller', `struct: ${changed}`],
    ['apply', 'default', last],
  ];
  test.each<[string, Step[], string]>([
    ['what others set stays when the applier lets go of all', steps(''), 'struct: {value: 1}'],
    ['also when it leaves an empty struct', steps('struct: {}'), 'struct: {value: 1}'],
    ['also when it leaves a null', steps('struct: null'), 'struct: {value: 1}'],
    [
      'and what they took over stays',
      steps('struct: null', '{name: b, value: 1}'),
      'struct: {name: b, value: 1}',
    ],
  ])('%s', (_, history, object) => {
    expect(withoutNulls(play(nested, history).object)).toEqual(parseYaml(object));
  });
});

describe('many appliers', () => {
  test('each owns its items', () => {
    check(
      nested,
      [
        ['apply', 'one', 'list: [{name: a}, {name: b}]'],
        ['apply', 'two', 'list: [{name: c}]'],
        ['apply', 'one', 'list: [{name: a}]'],
      ],
      'list: [{name: a}, {name: c}]',
      {
        'Apply one': set(['list', a], ['list', a, 'name']),
        'Apply two': set(['list', c], ['list', c, 'name']),
      },
    );
  });

  test('the same value is no conflict, and is shared', () => {
    const both = set(['list', a], ['list', a, 'name'], ['list', a, 'value']);
    check(
      nested,
      [
        ['apply', 'one', 'list: [{name: a, value: 0}]'],
        ['apply', 'two', 'list: [{name: a, value: 0}]'],
      ],
      'list: [{name: a, value: 0}]',
      { 'Apply one': both, 'Apply two': both },
    );
  });

  test('another value is a conflict', () => {
    const first: Step = ['apply', 'one', 'list: [{name: a, value: 0}]'];
    expect(conflicts(nested, [first], ['apply', 'two', 'list: [{name: a, value: 1}]'])).toEqual([
      'one .list[name="a"].value',
    ]);
    check(
      nested,
      [first, ['force', 'two', 'list: [{name: a, value: 1}]']],
      'list: [{name: a, value: 1}]',
      {
        'Apply one': set(['list', a], ['list', a, 'name']),
        'Apply two': set(['list', a], ['list', a, 'name'], ['list', a, 'value']),
      },
    );
  });

  test('another owner keeps dropped fields', () => {
    check(
      nested,
      [
        ['apply', 'one', 'list: [{name: a}, {name: b}, {name: c}]'],
        ['apply', 'two', 'list: [{name: c}, {name: d}]'],
        ['apply', 'one', 'list: [{name: a}]'],
      ],
      'list: [{name: a}, {name: c}, {name: d}]',
      {
        'Apply one': set(['list', a], ['list', a, 'name']),
        'Apply two': set(['list', c], ['list', d], ['list', c, 'name'], ['list', d, 'name']),
      },
    );
  });

  test('an item with fields of two owners', () => {
    check(
      nested,
      [
        ['apply', 'one', 'listOfLists: [{name: a}, {name: b, value: [c]}]'],
        ['apply', 'two', 'listOfLists: [{name: b, value: [d]}]'],
        ['apply', 'one', 'listOfLists: [{name: a}]'],
      ],
      'listOfLists: [{name: a}, {name: b, value: [d]}]',
      {
        'Apply one': set(['listOfLists', a], ['listOfLists', a, 'name']),
        'Apply two': set(
          ['listOfLists', b],
          ['listOfLists', b, 'name'],
          ['listOfLists', b, 'value', { '=': 'd' }],
        ),
      },
    );
  });

  test('fields that a controller added to a shared item stay', () => {
    check(
      nested,
      [
        ['apply', 'one', 'listOfLists: [{name: a}, {name: b, value: [c]}]'],
        ['apply', 'two', 'listOfLists: [{name: b, value: [d]}]'],
        ['update', 'controller', 'listOfLists: [{name: a}, {name: b, value: [c, d, e]}]'],
        ['apply', 'one', 'listOfLists: [{name: a}]'],
      ],
      'listOfLists: [{name: a}, {name: b, value: [d, e]}]',
      {
        'Apply one': set(['listOfLists', a], ['listOfLists', a, 'name']),
        'Apply two': set(
          ['listOfLists', b],
          ['listOfLists', b, 'name'],
          ['listOfLists', b, 'value', { '=': 'd' }],
        ),
        'Update controller': set(['listOfLists', b, 'value', { '=': 'e' }]),
      },
    );
  });

  test('fields that a controller added are removed with the item of a single owner', () => {
    check(
      nested,
      [
        ['apply', 'one', 'listOfLists: [{name: a}, {name: b, value: [c]}]'],
        ['apply', 'two', 'listOfLists: [{name: a, value: [b]}]'],
        ['update', 'controller', 'listOfLists: [{name: a, value: [b]}, {name: b, value: [c, d]}]'],
        ['apply', 'one', 'listOfLists: [{name: a}]'],
      ],
      'listOfLists: [{name: a, value: [b]}]',
      {
        'Apply one': set(['listOfLists', a], ['listOfLists', a, 'name']),
        'Apply two': set(
          ['listOfLists', a],
          ['listOfLists', a, 'name'],
          ['listOfLists', a, 'value', { '=': 'b' }],
        ),
      },
    );
  });

  test('an updater that owns a field keeps it when the applier drops it', () => {
    check(
      nested,
      [
        ['update', 'updater', 'struct: {name: a, value: 1}'],
        ['apply', 'applier', 'struct: {name: a, value: 1}'],
        ['apply', 'applier', 'struct: {name: a}'],
      ],
      'struct: {name: a, value: 1}',
      {
        'Update updater': set(['struct'], ['struct', 'name'], ['struct', 'value']),
        'Apply applier': set(['struct', 'name']),
      },
    );
  });
});

describe('updates', () => {
  const leaves = struct({
    numeric: number,
    string,
    bool: any,
    atomic: atomicList(string),
    set: setOf(string),
  });
  test.each<[string, Step[], Owners]>([
    [
      'a new field is the updater’s',
      [
        ['apply', 'applier', 'string: a'],
        ['update', 'controller', '{string: a, numeric: 1}'],
      ],
      { 'Apply applier': set(['string']), 'Update controller': set(['numeric']) },
    ],
    [
      'a changed field changes hands',
      [
        ['apply', 'applier', '{string: a, numeric: 1}'],
        ['update', 'controller', '{string: b, numeric: 1}'],
      ],
      { 'Apply applier': set(['numeric']), 'Update controller': set(['string']) },
    ],
    [
      'a removed field has no owner',
      [
        ['update', 'one', '{string: a, numeric: 1}'],
        ['update', 'two', 'string: a'],
      ],
      { 'Update one': set(['string']) },
    ],
    [
      'an atomic list is one field',
      [
        ['update', 'one', 'atomic: [a, b]'],
        ['update', 'two', 'atomic: [a]'],
      ],
      { 'Update two': set(['atomic']) },
    ],
    [
      'a set is not',
      [
        ['update', 'one', 'set: [a, b]'],
        ['update', 'two', 'set: [b, c]'],
      ],
      {
        'Update one': set(['set'], ['set', { '=': 'b' }]),
        'Update two': set(['set', { '=': 'c' }]),
      },
    ],
  ])('%s', (_, steps, owners) => check(leaves, steps, undefined, owners));
});

describe('items with duplicate keys', () => {
  const type = struct({
    list: keyed(['name'], struct({ name: string, value1: number, value2: number })),
    unrelated: number,
    set: setOf(number),
  });
  const one = { '=': 1 };
  const twice = 'list: [{name: a, value1: 1}, {name: a, value1: 2}, {name: b, value1: 3}]';
  const ofB = [
    ['list', b],
    ['list', b, 'name'],
    ['list', b, 'value1'],
  ] as const;
  test.each<[string, Step[], string | undefined, Owners]>([
    [
      'a set owns each value once',
      [['update', 'u', 'set: [1, 1, 3]']],
      undefined,
      { 'Update u': set(['set'], ['set', one], ['set', { '=': 3 }]) },
    ],
    [
      'who doubles a value owns it',
      [
        ['update', 'u', 'set: [1, 3]'],
        ['update', 'v', 'set: [1, 1, 3]'],
      ],
      undefined,
      { 'Update u': set(['set'], ['set', { '=': 3 }]), 'Update v': set(['set', one]) },
    ],
    [
      'who makes it single again, too',
      [
        ['update', 'u', 'set: [1, 1, 3]'],
        ['update', 'v', 'set: [1, 3]'],
      ],
      undefined,
      { 'Update u': set(['set'], ['set', { '=': 3 }]), 'Update v': set(['set', one]) },
    ],
    [
      'applied by force they become one',
      [
        ['update', 'u', 'set: [1, 1, 3]'],
        ['force', 'a', 'set: [1]'],
      ],
      'set: [1, 3]',
      { 'Update u': set(['set'], ['set', { '=': 3 }]), 'Apply a': set(['set', one]) },
    ],
    [
      'who applies others leaves them as they are',
      [
        ['update', 'u', 'set: [1, 1, 3]'],
        ['apply', 'a', 'set: [5]'],
      ],
      'set: [1, 1, 3, 5]',
      {
        'Update u': set(['set'], ['set', one], ['set', { '=': 3 }]),
        'Apply a': set(['set', { '=': 5 }]),
      },
    ],
    [
      'of a list, the item is owned, no field in it',
      [['update', 'u', twice]],
      undefined,
      { 'Update u': set(['list'], ['list', a], ...ofB) },
    ],
    [
      'an updater that changes one of them owns them all',
      [
        ['update', 'u', twice],
        ['update', 'v', twice.replace('value1: 2', 'value1: 2, value2: 3')],
      ],
      undefined,
      { 'Update u': set(['list'], ...ofB), 'Update v': set(['list', a]) },
    ],
    [
      'something unrelated is applied',
      [
        ['update', 'u', twice],
        ['force', 'a', 'unrelated: 5'],
      ],
      `{${twice}, unrelated: 5}`,
      { 'Update u': set(['list'], ['list', a], ...ofB), 'Apply a': set(['unrelated']) },
    ],
    [
      'an item applied takes their place',
      [
        ['update', 'u', twice],
        ['force', 'a', 'list: [{name: a, value1: 3}]'],
      ],
      'list: [{name: a, value1: 3}, {name: b, value1: 3}]',
      {
        'Update u': set(['list'], ...ofB),
        'Apply a': set(['list', a], ['list', a, 'name'], ['list', a, 'value1']),
      },
    ],
    [
      'another item applied leaves them',
      [
        ['update', 'u', twice],
        ['force', 'a', 'list: [{name: b, value1: 4}]'],
      ],
      twice.replace('value1: 3', 'value1: 4'),
      {
        'Update u': set(['list'], ['list', a], ['list', b], ['list', b, 'name']),
        'Apply a': set(...ofB),
      },
    ],
    [
      'duplicated by another manager, they stay when the applier drops them',
      [
        ['apply', 'a', 'list: [{name: a, value1: 1}, {name: b, value1: 3}]'],
        ['update', 'u', twice],
        ['apply', 'a', 'list: [{name: b, value1: 3}]'],
      ],
      twice,
      { 'Apply a': set(...ofB), 'Update u': set(['list', a]) },
    ],
  ])('%s', (_, steps, object, owners) => check(type, steps, object, owners));

  test('conflicts with one of them', () => {
    expect(
      conflicts(type, [['update', 'u', twice]], ['apply', 'a', 'list: [{name: a, value1: 2}]']),
    ).toEqual(['u .list[name="a"]']);
    expect(() => play(type, [['apply', 'a', twice]])).toThrow(
      '.list: duplicate entries for key [name="a"]',
    );
  });
});

describe('keys with defaults', () => {
  const ports = struct({
    ports: keyed(['port', 'protocol'], struct({ port: number, protocol: string, name: string }), {
      protocol: 'TCP',
    }),
  });
  const tcp = { port: 80, protocol: 'TCP' };
  const udp = { port: 80, protocol: 'UDP' };
  test('a missing key has its default', () => {
    check(ports, [['apply', 'a', 'ports: [{port: 80}]']], 'ports: [{port: 80}]', {
      'Apply a': set(['ports', tcp], ['ports', tcp, 'port']),
    });
    expect(
      conflicts(
        ports,
        [['apply', 'a', 'ports: [{port: 80, name: x}]']],
        ['apply', 'b', 'ports: [{port: 80, protocol: TCP, name: w}]'],
      ),
    ).toEqual(['a .ports[port=80,protocol="TCP"].name']);
  });
  test('a missing key without a default makes another item', () => {
    check(ports, [['apply', 'a', 'ports: [{port: 80}, {name: x}]']], undefined, {
      'Apply a': set(
        ['ports', tcp],
        ['ports', tcp, 'port'],
        ['ports', { protocol: 'TCP' }],
        ['ports', { protocol: 'TCP' }, 'name'],
      ),
    });
  });
  test('another value of the key makes another item', () => {
    check(ports, [['apply', 'a', 'ports: [{port: 80}, {port: 80, protocol: UDP}]']], undefined, {
      'Apply a': set(
        ['ports', tcp],
        ['ports', tcp, 'port'],
        ['ports', udp],
        ['ports', udp, 'port'],
        ['ports', udp, 'protocol'],
      ),
    });
  });
  test.each([
    [
      'twice',
      'ports: [{port: 80}, {port: 80, protocol: TCP}]',
      '.ports: duplicate entries for key [port=80,protocol="TCP"]',
    ],
    [
      'null',
      'ports: [null]',
      '.ports: element 0: associative list with keys may not have a null element',
    ],
    [
      'a scalar',
      'ports: [a]',
      '.ports: element 0: associative list with keys may not have non-map elements',
    ],
  ])('%s', (_, object, message) => {
    expect(() => play(ports, [['apply', 'a', object]])).toThrow(message);
  });
});

describe('without a schema', () => {
  test('maps are granular, lists atomic', () => {
    check(
      deduced,
      [
        ['apply', 'a', '{m: {x: 1, w: {v: 1}}, l: [{name: a}]}'],
        ['apply', 'b', '{m: {z: 1}, l: [{name: a}]}'],
        ['apply', 'a', '{m: {x: 1}}'],
      ],
      '{m: {x: 1, z: 1}, l: [{name: a}]}',
      { 'Apply a': set(['m'], ['m', 'x']), 'Apply b': set(['m'], ['m', 'z'], ['l']) },
    );
    expect(conflicts(deduced, [['apply', 'a', 'l: [1, 2]']], ['apply', 'b', 'l: [1]'])).toEqual([
      'a .l',
    ]);
  });
});

describe('versions', () => {
  // The field has another name in each version, as after a rename.
  const renamed = (version: string): MergeType =>
    struct({ struct: struct({ name: string, [`field_${version}`]: string }) });
  const known = ['v1', 'v2', 'v3'];
  const convertedAtOnce = (
    values: readonly unknown[],
    from: string,
    to: string,
  ): readonly unknown[] =>
    JSON.parse(JSON.stringify(values).replaceAll(`field_${from}`, `field_${to}`)) as unknown[];
  const versions: Versions = {
    typeOf: (version) => (known.includes(version) ? renamed(version) : undefined),
    convert: (values, from, to) => convertedAtOnce(values, from, to),
  };

  for (const v1 of known) {
    for (const v2 of known) {
      test(`a field applied in ${v1} is dropped in ${v2}`, () => {
        const steps: Step[] = [
          ['apply', 'one', `struct: {name: a, field_${v1}: a}`, v1],
          // The history does not convert by itself: its object is in the last written version.
          ['apply', 'one', 'struct: {name: a}', v2],
        ];
        const history = new History(versions);
        history.apply({ manager: 'one', object: steps[0]![2], version: v1 });
        [history.object] = convertedAtOnce([history.object], v1, v2);
        history.apply({ manager: 'one', object: 'struct: {name: a}', version: v2 });
        expect(withoutNulls(history.object)).toEqual({ struct: { name: 'a' } });
        expect(history.owners()).toEqual(expectedOwners({ 'Apply one': set(['struct', 'name']) }));
      });

      test(`a field applied in ${v1} is changed in ${v2}`, () => {
        const history = new History(versions);
        history.apply({ manager: 'one', object: `struct: {name: a, field_${v1}: a}`, version: v1 });
        [history.object] = convertedAtOnce([history.object], v1, v2);
        history.update({
          manager: 'two',
          object: `struct: {name: a, field_${v2}: b}`,
          version: v2,
        });
        expect(history.owners()).toEqual(
          expectedOwners({
            'Apply one': set(['struct', 'name']),
            'Update two': set(['struct', `field_${v2}`]),
          }),
        );
      });
    }
  }

  test('a conversion may be asynchronous, and takes one call for each version and comparison', async () => {
    const calls: number[] = [];
    const asynchronous: Versions = {
      typeOf: (version) => versions.typeOf(version),
      convert: async (values, from, to) => {
        calls.push(values.length);
        await Promise.resolve();
        return convertedAtOnce(values, from, to);
      },
    };
    const owner = (manager: string, operation: Operation, apiVersion: string): Manager => ({
      manager,
      operation,
      apiVersion,
      subresource: '',
      time: undefined,
      fields: FieldSet.empty,
    });
    const play = async (each: Versions): Promise<unknown> => {
      const one = owner('one', 'Apply', 'v1');
      const two = owner('two', 'Update', 'v2');
      const merging = (apiVersion: string): Merging => ({
        apiVersion,
        versions: each,
        reset: FieldSet.empty,
      });
      const applier = { id: managerId(one), force: false };
      const config = { struct: { name: 'a', field_v1: 'a' } };
      const first = await runWaitingSteps(
        applyManagers(merging('v1'), {}, config, new Map(), { ...applier, manager: one }),
      );
      const [live] = convertedAtOnce([first.object], 'v1', 'v2');
      const changed = { struct: { name: 'b', field_v2: 'a' } };
      const second = await runWaitingSteps(
        updateManagers(merging('v2'), live, changed, first.managers, managerId(two)),
      );
      const third = await runWaitingSteps(
        applyManagers(
          merging('v3'),
          convertedAtOnce([changed], 'v2', 'v3')[0],
          { struct: {} },
          second.managers,
          {
            ...applier,
            manager: one,
          },
        ),
      );
      return { second, third };
    };
    expect(await play(asynchronous)).toEqual(await play(versions));
    expect(calls.length).toBeGreaterThan(0);
    expect(calls[0]).toBe(2);
  });

  test('a failing conversion fails the write', async () => {
    const failing: Versions = {
      typeOf: (version) => versions.typeOf(version),
      convert: () => Promise.reject(new Error('no route')),
    };
    const history = new History(versions).apply({
      manager: 'one',
      object: 'struct: {name: a, field_v1: a}',
      version: 'v1',
    });
    const merging: Merging = { apiVersion: 'v2', versions: failing, reset: FieldSet.empty };
    const steps = updateManagers(
      merging,
      { struct: { name: 'a' } },
      { struct: { name: 'b' } },
      history.managers,
    );
    await expect(runWaitingSteps(steps)).rejects.toThrow('no route');
  });

  test('owners in a removed version own nothing, and prune nothing', () => {
    const history = new History(versions).apply({
      manager: 'one',
      object: 'struct: {name: a, field_v1: a}',
      version: 'v1',
    });
    const gone = new Map(
      [...history.managers].map(([id, owner]) => [id, { ...owner, apiVersion: 'v0' }]),
    );
    history.managers = gone;
    history.apply({ manager: 'one', object: 'struct: {name: a}', version: 'v1' });
    expect(history.object).toEqual({ struct: { name: 'a', field_v1: 'a' } });
    history.managers = gone;
    history.update({ manager: 'two', object: 'struct: {name: b, field_v1: a}', version: 'v1' });
    expect(history.owners()).toEqual(expectedOwners({ 'Update two': set(['struct', 'name']) }));
  });
});

describe('fields that an endpoint resets', () => {
  const type = struct({ spec: struct({ x: number }), status: struct({ x: number }) });
  test('are neither owned nor a conflict', () => {
    const history = new History(type, set(['status']));
    history.apply({ manager: 'a', object: '{spec: {x: 1}, status: {x: 1}}' });
    history.apply({ manager: 'b', object: '{status: {x: 2}}' });
    history.update({ manager: 'c', object: '{spec: {x: 1}, status: {x: 3}}' });
    expect(history.owners()).toEqual(expectedOwners({ 'Apply a': set(['spec', 'x']) }));
  });
});
