import { configMaps } from 'coxswain/api/core/v1';
import { formatHistory, withCluster } from 'coxswain/testing';
import { expect, test } from 'vitest';
import { greeter, greetings } from './greetings.ts';

const hello = {
  apiVersion: 'example.com/v1',
  kind: 'Greeting',
  metadata: { name: 'hello' },
  spec: { to: 'sea' },
};

test('handlers are functions', async () => {
  await withCluster({ clock: 'virtual', nodes: 0 }, async (cluster) => {
    await cluster.install(greetings);
    await cluster.webhooks.mutate(greetings, ({ object }) => {
      object.spec.loud ??= true;
    });
    await cluster.webhooks.validate(greetings, ({ object, deny }) => {
      if (object.spec.to === 'nobody') deny('a greeting needs a listener');
    });
    await cluster.apply(hello);
    expect((await cluster.get(greetings, 'hello')).spec.loud).toBe(true);
    const rejected = cluster.apply({ ...hello, spec: { to: 'nobody' } });
    await expect(rejected).rejects.toThrow('a greeting needs a listener');
  });
});

test('the history of an object names clients, requests and causes', async () => {
  await withCluster({ clock: 'virtual', nodes: 0, insight: true }, async (cluster) => {
    await cluster.install(greetings);
    cluster.runController(greeter);
    await cluster.apply(hello);
    await cluster.converge();
    const [first, second] = formatHistory(cluster.history(configMaps, 'hello')).split('\n');
    expect(first).toMatch(/ADDED ConfigMap default\/hello by greeter \(patch\)$/);
    expect(second).toMatch(/because of ADDED Greeting default\/hello, by kubernetes-admin$/);
  });
});

test('a breakpoint holds a request while time stands', async () => {
  await withCluster({ clock: 'virtual', nodes: 0 }, async (cluster) => {
    await cluster.install(greetings);
    cluster.runController(greeter);
    const hit = cluster.breakpoint({ client: 'greeter', resource: 'configmaps', verb: 'patch' });
    await cluster.apply(hello);
    const held = await hit;
    // The user changes the greeting before the controller's write arrives.
    await cluster.apply({ ...hello, spec: { to: 'land' } });
    held.resume();
    await cluster.converge();
    expect((await cluster.get(configMaps, 'hello')).data).toEqual({ text: 'hello land' });
  });
});
