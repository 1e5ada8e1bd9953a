import { configMaps } from 'coxswain/api/core/v1';
import { clusterMatchers, withCluster, type ClusterMatchers } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { greeter, greetings } from './greetings.ts';

declare module 'vitest' {
  // oxlint-disable-next-line typescript/no-empty-object-type
  interface Matchers<T> extends ClusterMatchers<Promise<void>> {}
}
expect.extend(clusterMatchers);

const hello = (spec: object) => ({
  apiVersion: 'example.com/v1',
  kind: 'Greeting',
  metadata: { name: 'hello' },
  spec,
});

test('a greeting becomes a ConfigMap, and goes with it', async () => {
  await withCluster({ clock: 'virtual', nodes: 0 }, async (cluster) => {
    await cluster.install(greetings);
    cluster.runController(greeter);

    await cluster.apply(hello({ to: 'sea' }));
    await cluster.waitFor(greetings, 'hello', ({ status }) => status?.said === true);
    expect((await cluster.get(configMaps, 'hello')).data).toEqual({ text: 'hello sea' });

    await cluster.apply(hello({ to: 'sea', loud: true }));
    await expect(cluster).toConverge();
    expect((await cluster.get(configMaps, 'hello')).data).toEqual({ text: 'hello sea!' });

    await cluster.delete(greetings, 'hello');
    await cluster.waitFor(configMaps, 'hello', 'deleted');
  });
});
