import { expect, test } from 'vitest';
import { withCluster } from './testing.ts';
import { clusterMatchers, type ClusterMatchers } from './matchers.ts';

declare module 'vitest' {
  // oxlint-disable-next-line typescript/no-empty-object-type
  interface Matchers<T> extends ClusterMatchers<Promise<void>> {}
}
expect.extend(clusterMatchers);

test('a cluster converges; another value is no cluster', async () => {
  await withCluster({ clock: 'virtual', nodes: 0 }, async (cluster) => {
    await expect(cluster).toConverge();
    await expect(expect(cluster).not.toConverge()).rejects.toThrow('has been at rest for 2m');
  });
  await expect(expect({}).toConverge()).rejects.toThrow('needs a cluster of startCluster');
});
