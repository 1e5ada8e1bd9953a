import { expect, test } from 'vitest';
import type { ObjectWatch } from '#kubelet/objects.ts';
import type { ConfigMap } from '#kubelet/types.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import { sharedWatches } from './shared-watches.ts';

const object: ConfigMap = {
  metadata: { name: 'conf', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
};

/** Returns the function with shared watches, and the watches that it has begun. */
function setUp() {
  const begun: { key: string; onChange: () => void; sync: () => void; stopped: boolean }[] = [];
  const watch = sharedWatches((kind, namespace, name, onChange): ObjectWatch<ConfigMap> => {
    const { promise, resolve } = withResolvers();
    const entry = { key: `${kind} ${namespace}/${name}`, onChange, sync: resolve, stopped: false };
    begun.push(entry);
    return { synced: promise, current: () => object, stop: () => void (entry.stopped = true) };
  });
  return { watch, begun };
}

test('users of one object share a watch, from the first user to the last', async () => {
  const { watch, begun } = setUp();
  const changes: string[] = [];
  const onChange = (): number => changes.push('both');
  const first = watch('configmap', 'default', 'conf', onChange);
  const second = watch('configmap', 'default', 'conf', onChange);
  watch('secret', 'default', 'conf', () => changes.push('secret'));
  expect(begun.map(({ key }) => key)).toEqual(['configmap default/conf', 'secret default/conf']);
  begun[0]!.sync();
  await Promise.all([first.synced, second.synced]);
  expect(second.current()).toBe(object);
  begun[0]!.onChange();
  expect(changes).toEqual(['both', 'both']);
  first.stop();
  first.stop();
  begun[0]!.onChange();
  expect(changes).toHaveLength(3);
  expect(begun[0]!.stopped).toBe(false);
  second.stop();
  expect(begun.map(({ stopped }) => stopped)).toEqual([true, false]);
  watch('configmap', 'default', 'conf', onChange);
  expect(begun).toHaveLength(3);
});

test('a user that stops before the first read gets an error, and the others go on waiting', async () => {
  const { watch, begun } = setUp();
  const first = watch('configmap', 'default', 'conf', () => undefined);
  const second = watch('configmap', 'default', 'conf', () => undefined);
  first.stop();
  await expect(first.synced).rejects.toThrow('not needed any more');
  begun[0]!.sync();
  await second.synced;
});
