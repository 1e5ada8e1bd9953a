// Rollouts with kubectl: history, undo, pause, resume, restart and scale, with the oldest and the
// newest kubectl installed.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
  testedKubectls,
} from './harness.ts';

const template = (name: string) => `
  template:
    metadata: {labels: {app: ${name}}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: "app:1"}]}`;

const MANIFESTS = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {kubernetes.io/change-cause: first}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}${template('web')}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}${template('db')}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: rc}
spec:
  replicas: 1${template('rc')}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: rs}
spec:
  replicas: 1
  selector: {matchLabels: {app: rs}}${template('rs')}
`;

const versions = testedKubectls();

describe
  .skipIf(missingKubectl !== undefined)
  .each(versions.length > 0 ? versions : [{ version: 'none', path: '' }])(
  named('rollouts with kubectl $version', missingKubectl),
  ({ path }) => {
    let dir: ReturnType<typeof temporaryDir>;
    let cluster: RunningCluster;
    let kubectl: Kubectl;
    beforeAll(async () => {
      dir = temporaryDir();
      cluster = await coxUp(['--runtime', 'simulated', '--nodes', '2'], { dataDir: dir.path });
      kubectl = cluster.kubectl(path);
      await kubectl.run('apply -f -', { input: MANIFESTS });
    });
    afterAll(async () => {
      await cluster?.stop();
      dir.remove();
    });

    /** Waits with `kubectl rollout status`. Returns the last line. */
    const finished = async (what: string) =>
      (await kubectl.run(`rollout status ${what} --timeout=30s`)).trimEnd().split('\n').at(-1);
    const image = (what: string) =>
      kubectl.run(`get ${what} -o jsonpath={.spec.template.spec.containers[0].image}`);
    const lines = (text: string) =>
      text
        .trim()
        .split('\n')
        .map((line) => line.trimEnd().replace(/ +/g, ' '));

    test('a Deployment: history, undo, pause, resume, restart', async () => {
      expect(await finished('deploy/web')).toBe('deployment "web" successfully rolled out');
      await kubectl.run('set image deploy/web c=app:2');
      await kubectl.run('annotate deploy/web kubernetes.io/change-cause=second --overwrite');
      await finished('deploy/web');
      expect(lines(await kubectl.run('rollout history deploy/web'))).toEqual([
        'deployment.apps/web',
        'REVISION CHANGE-CAUSE',
        '1 first',
        '2 second',
      ]);
      expect(await kubectl.run('rollout history deploy/web --revision=2')).toMatch(
        /Image:\s+app:2/,
      );
      await kubectl.run('rollout undo deploy/web');
      await finished('deploy/web');
      expect(await image('deploy/web')).toBe('app:1');
      expect(lines(await kubectl.run('rollout history deploy/web')).slice(2)).toEqual([
        '2 second',
        '3 first',
      ]);
      await kubectl.run('rollout undo deploy/web --to-revision=2');
      await finished('deploy/web');
      expect(await image('deploy/web')).toBe('app:2');

      await kubectl.run('rollout pause deploy/web');
      await kubectl.run('set image deploy/web c=app:3');
      await eventually('the change to be observed', async () => {
        const seen = await kubectl.run(
          'get deploy web -o jsonpath={.status.observedGeneration}={.metadata.generation}',
        );
        return /^(\d+)=\1$/.test(seen);
      });
      expect(
        await kubectl.run(
          'get rs -l app=web -o jsonpath={.items[*].spec.template.spec.containers[0].image}',
        ),
      ).not.toContain('app:3');
      await kubectl.run('rollout resume deploy/web');
      await finished('deploy/web');
      expect(
        await kubectl.run('get pods -l app=web -o jsonpath={.items[*].spec.containers[0].image}'),
      ).toContain('app:3');
      await kubectl.run('rollout restart deploy/web');
      expect(await finished('deploy/web')).toBe('deployment "web" successfully rolled out');
    });

    test('a StatefulSet: history, undo, restart', async () => {
      expect(await finished('sts/db')).toBe(
        'partitioned roll out complete: 2 new pods have been updated...',
      );
      await kubectl.run('set image sts/db c=app:2');
      await finished('sts/db');
      expect(lines(await kubectl.run('rollout history sts/db'))).toEqual([
        'statefulset.apps/db',
        'REVISION CHANGE-CAUSE',
        '1 <none>',
        '2 <none>',
      ]);
      await kubectl.run('rollout undo sts/db');
      await finished('sts/db');
      expect(
        await kubectl.run('get pods -l app=db -o jsonpath={.items[*].spec.containers[0].image}'),
      ).toBe('app:1 app:1');
      await kubectl.run('rollout restart sts/db');
      expect(await finished('sts/db')).toBe(
        'partitioned roll out complete: 2 new pods have been updated...',
      );
    });

    test('all of them are scaled, unless the expected size differs', async () => {
      await kubectl.run('scale deploy/web sts/db rc/rc rs/rs --replicas=4');
      await finished('deploy/web');
      await finished('sts/db');
      for (const what of ['deploy/web', 'sts/db', 'rc/rc', 'rs/rs']) {
        await kubectl.run(`wait ${what} --for=jsonpath={.status.readyReplicas}=4 --timeout=30s`);
      }
      await expect(kubectl.run('scale rc/rc --current-replicas=3 --replicas=1')).rejects.toThrow(
        'Expected replicas to be 3, was 4',
      );
    });
  },
);
