import { beforeEach, expect, test } from 'vitest';

import { encodeForStorage } from '#api/machinery/codec/index.ts';
import type { Catalog } from '#apiserver/catalog/catalog.ts';
import type { Follower, FollowOptions, Keeper } from '#apiserver/catalog/follow.ts';
import type { ListAnswer, ListOptions } from '#apiserver/registry/rest.ts';
import type { EncodedObject } from '#apiserver/request.ts';
import { NodeGraph } from './graph.ts';
import { PodsOfNodes } from './pods-of-nodes.ts';

interface Answer {
  readonly node: string;
  readonly resolve: (answer: ListAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** The lists that wait for an answer, in order. */
let lists: Answer[];
let graph: NodeGraph;
let nodes: PodsOfNodes;
let keeper: Keeper;
let beginWatch: () => void;

beforeEach(async () => {
  lists = [];
  graph = new NodeGraph();
  const list = (_context: unknown, { selection }: ListOptions): Promise<ListAnswer> =>
    new Promise((resolve, reject) => {
      lists.push({ node: selection.exact('spec.nodeName')!, resolve, reject });
    });
  const catalog = { snapshot: () => ({ stored: () => ({ rest: { list } }) }) };
  nodes = new PodsOfNodes(catalog as unknown as Catalog, graph);
  const follow: Follower['follow'] = async (
    _group,
    _resource,
    given,
    options: FollowOptions = {},
  ) => {
    keeper = given;
    beginWatch = options.onlyChangesSince!;
    beginWatch();
  };
  await nodes.follow({ follow } as Follower);
});

/** A pod that refers to a secret of its name. */
function stored(name: string, revision: number, nodeName = 'n1'): EncodedObject {
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'x', uid: `${name}-${revision}` },
    spec: { nodeName, containers: [], imagePullSecrets: [{ name }] },
    status: {},
  };
  const kv = { key: name, value: encodeForStorage(object), modRevision: revision };
  const read = { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
  return { kv, object: () => read } as unknown as EncodedObject;
}

const listOf = (revision: number, ...items: EncodedObject[]): ListAnswer => ({
  items,
  resourceVersion: String(revision),
});
const change = (pod: EncodedObject): void => keeper.set(pod.object() as never, pod);
const connected = (name: string, node = 'n1'): boolean => graph.leadsTo(node, 'secret', 'x', name);

test('a node is read once, for all that ask meanwhile', async () => {
  const first = nodes.read('n1');
  expect(nodes.read('n1')).toBe(first);
  expect(lists.map(({ node }) => node)).toEqual(['n1']);
  lists[0]!.resolve(listOf(5, stored('a', 3), stored('b', 4)));
  await first;
  expect(nodes.read('n1')).toBeUndefined();
  expect([connected('a'), connected('b'), connected('c'), connected('a', 'n2')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('changes before the list are in it, later ones follow', async () => {
  const reading = nodes.read('n1');
  change(stored('old', 4));
  keeper.delete('x/b', stored('b', 4));
  change(stored('new', 6));
  keeper.delete('x/a', stored('a', 7));
  lists[0]!.resolve(listOf(5, stored('a', 3), stored('b', 5)));
  await reading;
  expect(['a', 'b', 'old', 'new'].filter((name) => connected(name))).toEqual(['b', 'new']);
  keeper.delete('x/b', stored('b', 4));
  expect(connected('b')).toBe(true);
  change(stored('next', 8));
  keeper.delete('x/b', stored('b', 9));
  expect([connected('b'), connected('next')]).toEqual([false, true]);
});

test('pods of nodes without a question are not kept', async () => {
  change(stored('a', 3, 'n2'));
  expect(connected('a', 'n2')).toBe(false);
  const reading = nodes.read('n2');
  lists[0]!.resolve(listOf(5, stored('a', 3, 'n2')));
  await reading;
  expect(connected('a', 'n2')).toBe(true);
});

test('a node without pods is not kept, and neither is one whose last pod is deleted', async () => {
  const reading = nodes.read('none');
  lists[0]!.resolve(listOf(5));
  await reading;
  const again = nodes.read('none');
  lists[1]!.resolve(listOf(6, stored('a', 6, 'none')));
  await again;
  expect(nodes.read('none')).toBeUndefined();
  keeper.delete('x/a', stored('a', 7, 'none'));
  expect(connected('a', 'none')).toBe(false);
  expect(nodes.read('none')).toBeInstanceOf(Promise);
});

test('after a new watch every node is read again, also one whose list was under way', async () => {
  const known = nodes.read('n1');
  lists[0]!.resolve(listOf(5, stored('a', 3)));
  await known;
  const reading = nodes.read('n2');
  beginWatch();
  expect(connected('a')).toBe(false);
  lists[1]!.resolve(listOf(5, stored('b', 4, 'n2')));
  await expect.poll(() => lists.length).toBe(3);
  expect(connected('b', 'n2')).toBe(false);
  lists[2]!.resolve(listOf(9, stored('c', 8, 'n2')));
  await reading;
  expect([connected('b', 'n2'), connected('c', 'n2')]).toEqual([false, true]);
  expect(nodes.read('n1')).toBeInstanceOf(Promise);
});

test('a list that fails rejects, and the next question reads again', async () => {
  const reading = nodes.read('n1');
  lists[0]!.reject(new Error('the store is closed'));
  await expect(reading).rejects.toThrow('the store is closed');
  const again = nodes.read('n1');
  lists[1]!.resolve(listOf(5, stored('a', 3)));
  await again;
  expect(connected('a')).toBe(true);
});
