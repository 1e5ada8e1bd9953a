import { beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { ObjectTracker, references, untilAbortedObjects } from './objects.ts';
import { makeContainer, makePod } from './testing/make-pod.ts';
import type { ConfigMap } from './types.ts';

interface Watched {
  readonly key: string;
  readonly onChange: () => void;
  readonly sync: (object: ConfigMap | undefined) => void;
  stopped: boolean;
}

const object: ConfigMap = {
  metadata: { name: 'conf', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
};
const using = (uid: string, name = 'conf') =>
  makePod({
    metadata: { uid },
    spec: { containers: [makeContainer('main', { envFrom: [{ configMapRef: { name } }] })] },
  });

let clock: VirtualClock;
let watched: Watched[];
let changed: (readonly string[])[];
let tracker: ObjectTracker;
beforeEach(() => {
  clock = new VirtualClock();
  watched = [];
  changed = [];
  tracker = new ObjectTracker({
    clock,
    onChange: (uids) => changed.push(uids),
    watch: (kind, namespace, name, onChange) => {
      let current: ConfigMap | undefined;
      let sync = (_object: ConfigMap | undefined): void => undefined;
      const synced = new Promise<void>((resolve) => {
        sync = (found) => {
          current = found;
          resolve();
        };
      });
      const entry: Watched = {
        key: `${kind}/${namespace}/${name}`,
        onChange,
        sync,
        stopped: false,
      };
      watched.push(entry);
      return {
        synced,
        current: () => current,
        stop: () => void (entry.stopped = true),
      };
    },
  });
});

test('an object is watched from the first pod that refers to it to the last', async () => {
  tracker.register(using('a'));
  tracker.register(using('b'));
  tracker.register(using('a'));
  expect(watched.map(({ key }) => key)).toEqual(['configmap/default/conf']);
  watched[0]!.sync(object);
  expect(await tracker.configMap('default', 'conf')).toBe(object);
  watched[0]!.onChange();
  expect(changed).toEqual([['a', 'b']]);
  tracker.unregister('a');
  expect(watched[0]!.stopped).toBe(false);
  tracker.register(using('b', 'other'));
  expect(watched[0]!.stopped).toBe(true);
  expect(watched[1]!.key).toBe('configmap/default/other');
});

test('a missing object is reported by its name', async () => {
  tracker.register(using('a'));
  watched[0]!.sync(undefined);
  await expect(tracker.configMap('default', 'conf')).rejects.toThrow('configmap "conf" not found');
});

test('an object without registered pods is read, but not watched', async () => {
  const found = tracker.secret('default', 'once');
  watched[0]!.sync(object);
  expect(await found).toBe(object);
  expect(watched[0]!.stopped).toBe(true);
});

test('no caller waits for ever for an unresponsive API', async () => {
  tracker.register(using('a'));
  const found = expect(tracker.configMap('default', 'conf')).rejects.toThrow(
    'failed to sync configmap cache: timed out waiting for the condition',
  );
  await clock.advance('5s');
  await found;
});

test('an aborted caller stops waiting at once', async () => {
  tracker.register(using('a'));
  const abort = new AbortController();
  const found = expect(
    untilAbortedObjects(tracker, abort.signal).configMap('default', 'conf'),
  ).rejects.toThrow('enough');
  abort.abort(new Error('enough'));
  await found;
});

test('a pod refers to objects in env, volumes and pull secrets', () => {
  const pod = makePod({
    spec: {
      containers: [
        makeContainer('main', {
          envFrom: [{ secretRef: { name: 's1' } }],
          env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'c1', key: 'k' } } }],
        }),
      ],
      initContainers: [
        makeContainer('init', {
          env: [{ name: 'Y', valueFrom: { secretKeyRef: { name: 's2', key: 'k' } } }],
        }),
      ],
      volumes: [
        { name: 'a', configMap: { name: 'c2' } },
        { name: 'b', secret: { secretName: 's3' } },
        {
          name: 'c',
          projected: { sources: [{ configMap: { name: 'c3' } }, { secret: { name: 's4' } }] },
        },
      ],
      imagePullSecrets: [{ name: 's5' }],
    },
  });
  expect(
    references(pod)
      .map((key) => key.replace('/default/', ' '))
      .toSorted(),
  ).toEqual([
    'configmap c1',
    'configmap c2',
    'configmap c3',
    'secret s1',
    'secret s2',
    'secret s3',
    'secret s4',
    'secret s5',
  ]);
});
