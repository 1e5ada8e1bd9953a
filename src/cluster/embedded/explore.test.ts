// `explore` finds what a reconciler does wrong under a fault, and nothing in one that is right.

import { expect, test } from 'vitest';
import { configMaps } from '#api/groups/core/v1/index.ts';
import {
  type ControllerDefinition,
  defineController,
  ownerReference,
} from '#controllers/operator/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { type Disturbance, ExplorationError } from '#simulation/explore/index.ts';
import { explore } from './explore.ts';
import type { ExploreTest } from './explore-context.ts';

/** Makes a child of each ConfigMap that asks for one. `fixed`: the child's name is determined. */
const childOf = (fixed: boolean): ControllerDefinition =>
  defineController('child', ({ client, for: reconciles, owns }) => {
    const all = reconciles(configMaps);
    const children = owns(configMaps);
    return async ({ namespace, name }) => {
      const object = all.lister.get(namespace, name);
      if (object?.data?.['ask'] === undefined) return;
      const has = children.lister
        .list(namespace)
        .some(({ metadata }) => metadata.name.startsWith(`${name}-child`));
      if (has) return;
      const ownerReferences = [ownerReference(object, configMaps)];
      const metadata = fixed
        ? { name: `${name}-child`, namespace, ownerReferences }
        : { generateName: `${name}-child-`, namespace, ownerReferences };
      await client
        .resource(configMaps)
        .create({ metadata })
        .catch((error: unknown) => {
          if (!fixed || !apierrors.isAlreadyExists(error)) throw error;
        });
    };
  });

const ask: ExploreTest = async ({ cluster, namespace, settle }) => {
  await cluster.client
    .resource(configMaps)
    .create({ metadata: { name: 'a', namespace }, data: { ask: 'yes' } });
  await settle();
  await cluster.client
    .resource(configMaps)
    .create({ metadata: { name: 'b', namespace }, data: { ask: 'yes' } });
};

test('a child with a generated name is made twice', async () => {
  const [settled] = await Promise.allSettled([explore(ask, { reconciler: childOf(false) })]);
  const error: unknown = settled.status === 'rejected' ? settled.reason : undefined;
  expect(error).toBeInstanceOf(ExplorationError);
  expect((error as Error).message).toMatch(
    /no answer to write 1.*the outcome differs.*\n\+ .*a-child-/s,
  );
  // The message says how that run alone is repeated.
  const line = /^run it again alone: .*only: (\{.*?\}), cluster: \{ …, seed: "coxswain" \}/m.exec(
    (error as Error).message,
  );
  const only = JSON.parse(line?.[1] ?? '') as Disturbance;
  expect(only).toEqual({ kind: 'lost answer', write: 1 });
  const again = await explore(ask, { reconciler: childOf(false), only }).catch(
    (error_: unknown) => error_,
  );
  expect(again).toBeInstanceOf(ExplorationError);
  expect((again as ExplorationError).exploration.runs).toBe(2);
});

test('a child with a determined name is made once', async () => {
  const exploration = await explore(ask, { reconciler: childOf(true) });
  expect(exploration).toMatchObject({ complete: true, problems: [] });
  expect(exploration.runs).toBeGreaterThan(10);
  expect(exploration.outcome).toHaveLength(4);
});

/** Notes in an object that it has seen it. `safe`: the write has a precondition. */
const noting = (name: string, safe: boolean): ControllerDefinition =>
  defineController(name, ({ client, for: reconciles }) => {
    const all = reconciles(configMaps);
    return async ({ namespace, name: key }) => {
      if (all.lister.get(namespace, key)?.data?.[name] !== undefined) return;
      const resource = client.resource(configMaps).namespace(namespace);
      const { metadata, data } = await resource.get(key);
      if (data?.[name] !== undefined) return;
      const { resourceVersion, ...bare } = metadata;
      const seen = { ...data, [name]: 'seen' };
      await resource.update({
        metadata: safe ? { ...bare, resourceVersion } : bare,
        data: seen,
      });
      if (!safe) done.add(`${namespace}/${key}/${name}`);
    };
  });
const done = new Set<string>();

const oneObject: ExploreTest = async ({ cluster, namespace }) => {
  await cluster.client
    .resource(configMaps)
    .create({ metadata: { name: 'a', namespace }, data: {} });
};

test('every order of the requests of two reconcilers is tried', async () => {
  const exploration = await explore(oneObject, {
    reconciler: [noting('left', true), noting('right', true)],
    kinds: ['order'],
  });
  expect(exploration).toMatchObject({ complete: true, problems: [] });
  expect(exploration.runs).toBeGreaterThan(3);
});

test('an invariant finds a lost update in some order', async () => {
  const explored = explore(oneObject, {
    reconciler: [noting('left', false), noting('right', false)],
    kinds: ['order'],
    invariant: async ({ cluster, namespace }) => {
      const { data } = await cluster.get(configMaps, 'a', { namespace });
      for (const name of ['left', 'right'])
        if (done.has(`${namespace}/a/${name}`) && data?.[name] === undefined)
          throw new Error(`the update of ${name} is lost`);
    },
  });
  await expect(explored).rejects.toThrow(/requests in the order .*the update of \w+ is lost/);
  // A single choice is enough.
  const failure = await explored.catch((error: unknown) => error);
  const [problem] = (failure as ExplorationError).exploration.problems;
  const choices = problem?.disturbance.kind === 'order' ? problem.disturbance.choices : [];
  expect(choices.filter((choice) => choice !== 0)).toHaveLength(1);
});

test('a test that fails without a fault is reported as it is', async () => {
  const explored = explore(
    async () => {
      throw new Error('wrong from the beginning');
    },
    { reconciler: childOf(true) },
  );
  await expect(explored).rejects.toThrow('wrong from the beginning');
  await expect(explore(oneObject, { reconciler: [] })).rejects.toThrow('a reconciler is needed');
});
