import { describe, expect, test } from 'vitest';
import { type ReplicaSet, replicaSets } from '#api/groups/apps/v1/index.ts';
import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { createClient } from '#client/create-client.ts';
import { ControllerExpectations } from '#client/expectations.ts';
import { Store } from '#client/informers/index.ts';
import type { Transport, TransportRequest } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { selectorOf } from './claim.ts';
import { BY_CONTROLLER, byController } from './controller-ref.ts';
import { Dependents, type DependentsConfig } from './dependents.ts';
import { OwnWrites } from './own-writes.ts';
import { BY_REQUIRED_LABEL, byRequiredLabel } from './required-label.ts';

type ReadPod = Immutable<Pod>;
type ReadSet = Immutable<ReplicaSet>;

const GONE = '2026-01-01T00:00:00Z';

function set(name: string, app = name, fields: Record<string, unknown> = {}): ReadSet {
  return {
    metadata: {
      name,
      namespace: 'ns',
      uid: `uid-of-${name}`,
      resourceVersion: '1',
      creationTimestamp: '',
      ...fields,
    },
    spec: { selector: { matchLabels: { app } } },
    status: { replicas: 0 },
  } as unknown as ReadSet;
}

interface PodFields {
  readonly owner?: string;
  readonly app?: string;
  readonly uid?: string;
  readonly revision?: number;
  readonly going?: boolean;
}

function pod(
  name: string,
  { owner, app, uid = `uid-of-${name}`, revision = 1, going }: PodFields = {},
): ReadPod {
  return {
    metadata: {
      name,
      namespace: 'ns',
      uid,
      resourceVersion: String(revision),
      creationTimestamp: '',
      ...(app !== undefined && { labels: { app } }),
      ...(going === true && { deletionTimestamp: GONE }),
      ...(owner !== undefined && {
        ownerReferences: [
          {
            apiVersion: 'apps/v1',
            kind: 'ReplicaSet',
            name: owner,
            uid: `uid-of-${owner}`,
            controller: true,
          },
        ],
      }),
    },
  } as unknown as ReadPod;
}

function setUp(
  owners: readonly ReadSet[],
  present: readonly ReadPod[] = [],
  options: Partial<DependentsConfig<ReplicaSet, Pod>> & {
    readonly answer?: (request: TransportRequest) => unknown;
  } = {},
) {
  const { answer = () => ({}), ...config } = options;
  const requests: string[] = [];
  const transport: Transport = {
    request: async <T>(request: TransportRequest) => {
      requests.push(`${request.method} ${request.path} ${JSON.stringify(request.body ?? null)}`);
      return answer(request) as T;
    },
    watch: () => Promise.reject(new Error('not served')),
    text: () => Promise.reject(new Error('not served')),
    stream: () => Promise.reject(new Error('not served')),
    close: () => undefined,
  };
  const clock = new VirtualClock();
  const expectations = new ControllerExpectations({ clock });
  const writes = new OwnWrites({ clock });
  const ownerStore = new Store<ReadSet>({
    [BY_REQUIRED_LABEL]: byRequiredLabel<ReadSet>(selectorOf),
  });
  for (const owner of owners) ownerStore.put(owner);
  const podStore = new Store<ReadPod>({ [BY_CONTROLLER]: byController });
  for (const each of present) podStore.put(each);
  const dependents = new Dependents<ReplicaSet, Pod>({
    client: createClient(transport),
    ownerType: replicaSets,
    owners: ownerStore,
    type: pods,
    dependents: podStore,
    selectorOf,
    ...config,
  });
  const woken: string[] = [];
  const handler = dependents.eventHandler({
    enqueue: (key) => woken.push(key),
    expectations,
    writes,
  });
  const { onAdd, onUpdate, onDelete } = handler;
  if (onAdd === undefined || onUpdate === undefined || onDelete === undefined)
    throw new Error('a handler is missing');
  return {
    dependents,
    expectations,
    writes,
    requests,
    add: (object: ReadPod) => onAdd(object, false),
    update: (before: ReadPod, object: ReadPod) => onUpdate(before, object),
    remove: (object: ReadPod) => onDelete(object, false),
    /** Returns the keys that were woken since the last call. */
    woken: () => woken.splice(0),
    claim: (owner: ReadSet) => dependents.claim(owner, new AbortController().signal),
  };
}

const names = (objects: readonly ReadPod[]): readonly string[] =>
  objects.map(({ metadata }) => metadata.name).sort();

describe('the owner', () => {
  test('is the object that the reference names, and no namesake with another UID or of another kind', () => {
    const { dependents } = setUp([set('web')]);
    expect(dependents.ownerOf(pod('a', { owner: 'web' }))?.metadata.name).toBe('web');
    expect(dependents.ownerOf(pod('b', { owner: 'gone' }))).toBeUndefined();
    expect(dependents.ownerOf(pod('c'))).toBeUndefined();
    const { metadata } = pod('d', { owner: 'web' });
    const [reference] = metadata.ownerReferences ?? [];
    const owned = (changed: object): ReadPod =>
      ({
        metadata: { ...metadata, ownerReferences: [{ ...reference, ...changed }] },
      }) as unknown as ReadPod;
    expect(dependents.ownerOf(owned({ uid: 'another' }))).toBeUndefined();
    expect(dependents.ownerOf(owned({ kind: 'DaemonSet' }))).toBeUndefined();
    expect(dependents.ownerOf(owned({ controller: false }))).toBeUndefined();
  });

  test('has its dependents, and considers the orphans of its namespace', () => {
    const web = set('web');
    const present = [pod('a', { owner: 'web' }), pod('b', { owner: 'other' }), pod('c'), pod('d')];
    const { dependents } = setUp([web], present, {
      mayAdopt: (_, { metadata }) => metadata.name !== 'd',
    });
    expect(names(dependents.controlledBy(web))).toEqual(['a']);
    expect(names(dependents.candidates(web))).toEqual(['a', 'c']);
  });
});

describe('an event', () => {
  test('of a dependent wakes its owner', () => {
    const t = setUp([set('web')]);
    const [before, after] = [pod('a', { owner: 'web' }), pod('a', { owner: 'web', revision: 2 })];
    t.add(before);
    t.update(before, after);
    t.remove(after);
    expect(t.woken()).toEqual(['ns/web', 'ns/web', 'ns/web']);
  });

  test('of an object that changes hands wakes both owners', () => {
    const t = setUp([set('old'), set('new')]);
    t.update(pod('a', { owner: 'old' }), pod('a', { owner: 'new', revision: 2 }));
    expect(t.woken()).toEqual(['ns/old', 'ns/new']);
  });

  test('of an orphan wakes the owners that select it, when it is new, released or gets other labels', () => {
    const t = setUp([set('web'), set('also', 'web'), set('other')]);
    const orphan = pod('a', { app: 'web' });
    t.add(orphan);
    expect(t.woken().sort()).toEqual(['ns/also', 'ns/web']);
    t.update(pod('a', { app: 'web', owner: 'other' }), orphan);
    expect(t.woken().sort()).toEqual(['ns/also', 'ns/other', 'ns/web']);
    t.update(orphan, pod('a', { app: 'other', revision: 2 }));
    expect(t.woken()).toEqual(['ns/other']);
    t.update(orphan, pod('a', { app: 'web', revision: 2 }));
    t.remove(orphan);
    expect(t.woken()).toEqual([]);
  });

  test('of an orphan wakes owners whatever their selector requires', () => {
    const select = (name: string, selector: object) => ({ ...set(name), spec: { selector } });
    const inside = (operator: string, ...values: string[]) => ({
      matchExpressions: [{ key: 'app', operator, ...(values.length > 0 && { values }) }],
    });
    const t = setUp([
      select('all', {}),
      select('exists', inside('Exists')),
      select('in', inside('In', 'web', 'db')),
      select('not-in', inside('NotIn', 'web')),
      select('two', { matchLabels: { tier: 'front', app: 'web' } }),
      select('none', { matchLabels: { app: 'db' } }),
      { ...set('elsewhere', 'web', { namespace: 'other' }) },
    ] as unknown as ReadSet[]);
    t.add(pod('a', { app: 'web' }));
    expect(t.woken().toSorted()).toEqual(['ns/all', 'ns/exists', 'ns/in']);
    t.add(pod('b'));
    expect(t.woken().toSorted()).toEqual(['ns/all', 'ns/not-in']);
  });

  test('of an orphan that is being deleted, or may not be adopted, wakes no owner', () => {
    const t = setUp([set('web')], [], { mayAdopt: (_, { metadata }) => metadata.name !== 'b' });
    t.add(pod('a', { app: 'web', going: true }));
    t.update(
      pod('a', { app: 'web', owner: 'web' }),
      pod('a', { app: 'web', going: true, revision: 2 }),
    );
    t.woken();
    t.update(pod('a', { app: 'x' }), pod('a', { app: 'web', going: true, revision: 2 }));
    t.add(pod('b', { app: 'web' }));
    expect(t.woken()).toEqual([]);
  });

  test('of an object whose owner the cache lacks wakes no owner, even if one selects it', () => {
    const t = setUp([set('web')]);
    t.add(pod('a', { app: 'web', owner: 'unknown' }));
    t.remove(pod('a', { app: 'web', owner: 'unknown' }));
    expect(t.woken()).toEqual([]);
  });

  test('that shows another UID is a deletion and an addition', () => {
    const t = setUp([set('old'), set('new')]);
    t.expectations.expectDeletions('ns/old', ['first']);
    t.expectations.expectCreations('ns/new', 1);
    t.update(pod('a', { owner: 'old', uid: 'first' }), pod('a', { owner: 'new', uid: 'second' }));
    expect(t.woken()).toEqual(['ns/old', 'ns/new']);
    expect(t.expectations.satisfiedExpectations('ns/old')).toBe(true);
    expect(t.expectations.satisfiedExpectations('ns/new')).toBe(true);
  });
});

describe('expectations', () => {
  test('a new dependent is a creation, unless it has a deletionTimestamp', () => {
    const t = setUp([set('web')]);
    t.expectations.expectCreations('ns/web', 1);
    t.add(pod('old', { owner: 'web', going: true }));
    expect(t.expectations.satisfiedExpectations('ns/web')).toBe(false);
    t.add(pod('new', { owner: 'web' }));
    expect(t.expectations.satisfiedExpectations('ns/web')).toBe(true);
  });

  test.each(['marked', 'released and marked', 'removed'])(
    'a dependent that is %s is a deletion',
    (how) => {
      const t = setUp([set('web')]);
      const before = pod('a', { owner: 'web' });
      t.expectations.expectDeletions('ns/web', ['uid-of-a']);
      t.update(before, pod('a', { owner: 'web', revision: 2 }));
      expect(t.expectations.satisfiedExpectations('ns/web')).toBe(false);
      if (how === 'removed') t.remove(before);
      else
        t.update(
          before,
          pod('a', { ...(how === 'marked' && { owner: 'web' }), going: true, revision: 2 }),
        );
      expect(t.expectations.satisfiedExpectations('ns/web')).toBe(true);
    },
  );
});

describe('own writes', () => {
  test('are seen when the cache has that version, and when the object is gone', () => {
    const t = setUp([set('web')]);
    const wrote = pod('a', { owner: 'web', revision: 5 });
    t.writes.wrote('ns/web', wrote, undefined);
    t.update(pod('a', { owner: 'web', revision: 3 }), pod('a', { owner: 'web', revision: 4 }));
    expect(t.writes.remainingMs('ns/web')).toBeGreaterThan(0);
    t.update(pod('a', { owner: 'web', revision: 4 }), wrote);
    expect(t.writes.remainingMs('ns/web')).toBe(0);
    t.writes.wrote('ns/web', pod('a', { owner: 'web', revision: 9 }), undefined);
    t.remove(wrote);
    expect(t.writes.remainingMs('ns/web')).toBe(0);
  });

  test('of an owner that lost the object are seen with the event that shows the loss', () => {
    const t = setUp([set('web')]);
    t.writes.wrote('ns/web', pod('a', { owner: 'web', revision: 5 }), undefined);
    t.update(pod('a', { owner: 'web', revision: 4 }), pod('a', { revision: 6 }));
    expect(t.writes.remainingMs('ns/web')).toBe(0);
  });
});

describe('claim', () => {
  const web = set('web');
  const owned = pod('owned', { owner: 'web', app: 'web' });
  const orphan = pod('orphan', { app: 'web' });
  const strayed = pod('strayed', { owner: 'web', app: 'other' });

  test('writes nothing if every dependent matches and no orphan does', async () => {
    const t = setUp(
      [web],
      [owned, pod('stranger', { app: 'x' }), pod('other', { owner: 'also', app: 'web' })],
    );
    expect(names(await t.claim(web))).toEqual(['owned']);
    expect(t.requests).toEqual([]);
  });

  test('adopts after it has asked for the live owner, and releases; both name the UID', async () => {
    const t = setUp([web], [owned, orphan, strayed], {
      answer: ({ method }) =>
        method === 'GET' ? web : pod('orphan', { owner: 'web', app: 'web' }),
    });
    expect(names(await t.claim(web))).toEqual(['orphan', 'owned']);
    expect(t.requests).toHaveLength(3);
    const [get, adopt, release] = t.requests;
    expect(get).toBe('GET /apis/apps/v1/namespaces/ns/replicasets/web null');
    expect(adopt).toContain('PATCH /api/v1/namespaces/ns/pods/orphan');
    expect(adopt).toContain(
      '"kind":"ReplicaSet","name":"web","uid":"uid-of-web","controller":true,"blockOwnerDeletion":true',
    );
    expect(adopt).toContain('"uid":"uid-of-orphan"');
    expect(release).toContain('PATCH /api/v1/namespaces/ns/pods/strayed');
    expect(release).toContain('"$patch":"delete","uid":"uid-of-web"');
    expect(release).toContain('"uid":"uid-of-strayed"');
  });

  test.each([
    [
      'has been replaced',
      set('web', 'web', { uid: 'another' }),
      'original ReplicaSet ns/web is gone',
    ],
    [
      'is being deleted',
      set('web', 'web', { deletionTimestamp: GONE }),
      'ReplicaSet ns/web has just been deleted',
    ],
  ])('adopts nothing if the live owner %s', async (_, live, message) => {
    const t = setUp([web], [orphan], { answer: () => live });
    await expect(t.claim(web)).rejects.toThrow(message);
    expect(t.requests).toHaveLength(1);
  });

  test('an owner that is being deleted neither adopts nor releases', async () => {
    const going = set('web', 'web', { deletionTimestamp: GONE });
    const t = setUp([going], [owned, orphan, strayed]);
    expect(names(await t.claim(going))).toEqual(['owned']);
    expect(t.requests).toEqual([]);
  });

  test('skips an orphan that is gone or owned by now, and throws another failure after the last patch', async () => {
    const present = [pod('gone', { app: 'web' }), pod('taken', { app: 'web' }), strayed];
    const pod404 = { group: '', resource: 'pods' };
    const answer = ({ method, path }: TransportRequest): unknown => {
      if (method === 'GET') return web;
      if (path.endsWith('gone')) throw apierrors.notFound(pod404, 'gone');
      if (path.endsWith('taken'))
        throw apierrors.conflict(pod404, 'taken', new Error('the UID differs'));
      return {};
    };
    const t = setUp([web], present, { answer });
    expect(await t.claim(web)).toEqual([]);
    const failing = setUp([web], [...present, orphan], {
      answer: (request) => {
        if (request.path.endsWith('orphan'))
          throw apierrors.forbidden(pod404, 'orphan', new Error('no'));
        return answer(request);
      },
    });
    await expect(failing.claim(web)).rejects.toThrow('forbidden');
    expect(failing.requests.filter((request) => request.startsWith('PATCH'))).toHaveLength(4);
  });

  test('is rejected for a type without a selector', () => {
    const t = setUp([web], [orphan], { selectorOf: undefined });
    t.add(orphan);
    expect(t.woken()).toEqual([]);
    expect(() => t.claim(web)).toThrow('ReplicaSet has no selector to claim by');
  });
});
