import { expect, test } from 'vitest';
import type { Endpoint, EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type Plan, planSlices } from './plan.ts';

const ports = [{ name: '', protocol: 'TCP' as const, port: 80 }];
const others = [{ name: '', protocol: 'TCP' as const, port: 81 }];
const at = (number: number, ready = true): Endpoint => ({
  addresses: [`10.0.${Math.floor(number / 250)}.${number % 250}`],
  conditions: { ready },
  targetRef: { kind: 'Pod', namespace: 'default', name: `pod-${number}` },
});
const from = (first: number, count: number): Endpoint[] =>
  Array.from({ length: count }, (_, index) => at(first + index));
const slice = (
  name: string,
  endpoints: Endpoint[],
  its: typeof ports | null = ports,
): Immutable<EndpointSlice> => ({
  metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: '' },
  addressType: 'IPv4',
  endpoints,
  ports: its,
});
const plan = (
  endpoints: Endpoint[],
  existing: Immutable<EndpointSlice>[],
  outdated: string[] = [],
): Plan =>
  planSlices({
    groups: endpoints.length === 0 ? [] : [{ ports, endpoints }],
    existing,
    maxEndpoints: 10,
    isOutdated: ({ metadata }) => outdated.includes(metadata.name),
  });
const sizes = ({ create, update, remove }: Plan) => ({
  create: create.map(({ endpoints }) => endpoints.length),
  update: update.map(
    ({ slice: { metadata }, content }) => `${metadata.name}:${content.endpoints.length}`,
  ),
  remove: remove.map(({ metadata }) => metadata.name),
});

test.each<[string, Endpoint[], Immutable<EndpointSlice>[], object]>([
  ['nothing: an empty slice', [], [], { create: [0] }],
  ['still nothing', [], [slice('a', [], null)], {}],
  ['the first', [at(1)], [], { create: [1] }],
  [
    'the first takes the place of the empty slice',
    [at(1)],
    [slice('a', [], null)],
    { update: ['a:1'] },
  ],
  ['more than one slice holds', from(0, 25), [], { create: [10, 10, 5] }],
  ['nothing new', from(0, 5), [slice('a', from(0, 5))], {}],
  ['one changes', [...from(0, 4), at(4, false)], [slice('a', from(0, 5))], { update: ['a:5'] }],
  ['one goes', from(0, 4), [slice('a', from(0, 5))], { update: ['a:4'] }],
  ['all go: the slice becomes the empty one', [], [slice('a', from(0, 5))], { update: ['a:0'] }],
  [
    'all of one slice go',
    from(0, 5),
    [slice('a', from(0, 5)), slice('b', from(5, 2))],
    { remove: ['b'] },
  ],
  [
    'one more goes into the fullest with room',
    from(0, 12),
    [slice('a', from(0, 4)), slice('b', from(4, 7))],
    { update: ['b:8'] },
  ],
  [
    'too many for the room: a new slice',
    from(0, 20),
    [slice('a', from(0, 6)), slice('b', from(6, 6))],
    { create: [8] },
  ],
  [
    'what is written anyway is filled first',
    [...from(1, 8), ...from(20, 4)],
    [slice('a', from(0, 5)), slice('b', from(5, 4))],
    { update: ['a:8'] },
  ],
  [
    'other ports: the slice is taken over',
    from(0, 2),
    [slice('a', from(0, 2), others)],
    { update: ['a:2'] },
  ],
  [
    'one that is in two slices',
    from(0, 2),
    [slice('a', from(0, 2)), slice('b', from(1, 1))],
    { remove: ['b'] },
  ],
  [
    'one slice with more than it may have',
    from(0, 12),
    [slice('a', from(0, 12))],
    { update: ['a:10'], create: [2] },
  ],
])('%s', (_, endpoints, existing, expected) => {
  expect(sizes(plan(endpoints, existing))).toEqual({
    create: [],
    update: [],
    remove: [],
    ...expected,
  });
});

test('an outdated slice is rewritten', () => {
  expect(
    sizes(plan(from(0, 2), [slice('a', from(0, 1)), slice('b', from(1, 1))], ['b'])).update,
  ).toEqual(['b:1']);
  expect(sizes(plan([], [slice('a', [], null)], ['a'])).update).toEqual(['a:0']);
});

test('every endpoint is in exactly one slice, for any previous slices', () => {
  for (let seed = 0; seed < 200; seed++) {
    const existing = [
      slice('a', from(seed % 7, seed % 11)),
      slice('b', from(seed % 13, seed % 9)),
      slice('c', from(seed % 5, 3), others),
    ];
    const wanted = from(seed % 17, (seed * 7) % 31);
    const { create, update, remove } = plan(wanted, existing);
    const untouched = existing.filter(
      (one) =>
        !remove.includes(one) &&
        !update.some(({ slice: { metadata } }) => metadata.name === one.metadata.name),
    );
    const contents = [...create, ...update.map(({ content }) => content), ...untouched];
    const names = contents.flatMap(({ endpoints }) =>
      (endpoints ?? []).map(({ targetRef }) => targetRef?.name),
    );
    expect(names.toSorted(), `seed ${seed}`).toEqual(
      wanted.map(({ targetRef }) => targetRef?.name).toSorted(),
    );
    expect(contents.length).toBeGreaterThan(0);
    for (const { endpoints } of contents) expect((endpoints ?? []).length).toBeLessThanOrEqual(10);
  }
});
