// The usual work with kubectl, on simulated nodes, with the oldest and the newest kubectl
// installed. The printed output is compared, without ages and generated names.

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
import { replicaSet } from './manifests.ts';

/** Replaces ages, generated suffixes, addresses and column widths, which differ between runs. */
const shape = (text: string): string =>
  text
    .replace(/\b(\d+[smhd])+\b/g, 'AGE')
    .replace(/-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '-XXXXX')
    .replace(/10\.244\.\d+\.\d+/g, 'POD-IP')
    .replace(/[ \t]+/g, ' ')
    .replace(/ $/gm, '');

const versions = testedKubectls();

describe
  .skipIf(missingKubectl !== undefined)
  .each(versions.length > 0 ? versions : [{ version: 'none', path: '' }])(
  named('kubectl $version', missingKubectl),
  ({ path, version }) => {
    let dir: ReturnType<typeof temporaryDir>;
    let cluster: RunningCluster;
    let kubectl: Kubectl;
    beforeAll(async () => {
      dir = temporaryDir();
      cluster = await coxUp(['--runtime', 'simulated', '--nodes', '2'], { dataDir: dir.path });
      kubectl = cluster.kubectl(path);
    });
    afterAll(async () => {
      await cluster?.stop();
      dir.remove();
    });
    const apply = (yaml: string, flags = '') => kubectl.run(`apply ${flags} -f -`, { input: yaml });
    const ready = (name: string, count: number, namespace = 'default') =>
      eventually(`${count} ready pods of ${name}`, async () => {
        const replicas = await kubectl.run(
          `get rs ${name} -n ${namespace} -o jsonpath={.status.readyReplicas}`,
        );
        return replicas === (count === 0 ? '' : String(count));
      });
    const gone = (what: string) =>
      eventually(
        `${what} to be gone`,
        async () => (await kubectl.run(`get ${what} --ignore-not-found -o name`)) === '',
      );

    test('nodes and namespaces, with the columns of Kubernetes', async () => {
      await kubectl.run('wait --for=condition=Ready node --all --timeout=20s');
      const nodes = shape(await kubectl.run('get nodes'));
      expect(nodes.split('\n')[0]).toBe('NAME STATUS ROLES AGE VERSION');
      expect(nodes).toMatch(/ Ready .* v1\.36\.3/);
      expect(shape(await kubectl.run('get nodes -o wide')).split('\n')[0]).toBe(
        'NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME',
      );
      expect(shape(await kubectl.run('get ns'))).toBe(
        'NAME STATUS AGE\ndefault Active AGE\nkube-node-lease Active AGE\nkube-public Active ' +
          'AGE\nkube-system Active AGE\n',
      );
      const services = shape(await kubectl.run('get svc'));
      expect(services).toBe(
        'NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE\nkubernetes ClusterIP 10.96.0.1 <none> 443/TCP AGE\n',
      );
    });

    test('applies a ReplicaSet, and its pods run', async () => {
      expect(await apply(replicaSet('replicatest', 2))).toBe(
        'replicaset.apps/replicatest created\n',
      );
      await ready('replicatest', 2);
      expect(shape(await kubectl.run('get rs'))).toBe(
        'NAME DESIRED CURRENT READY AGE\nreplicatest 2 2 2 AGE\n',
      );
      expect(shape(await kubectl.run('get pods'))).toBe(
        'NAME READY STATUS RESTARTS AGE\nreplicatest-XXXXX 1/1 Running 0 AGE\nreplicatest-XXXXX 1/1 Running 0 AGE\n',
      );
      const wide = shape(await kubectl.run('get pods -o wide'));
      expect(wide.split('\n')[0]).toBe(
        'NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES',
      );
      expect(wide).toMatch(/replicatest-XXXXX 1\/1 Running 0 AGE POD-IP \S+ <none> <none>/);
      expect(shape(await kubectl.run('get rs -o wide'))).toContain(
        'replicatest 2 2 2 AGE busybox busybox app=replicatest',
      );
      expect(await apply(replicaSet('replicatest', 2))).toBe(
        'replicaset.apps/replicatest unchanged\n',
      );
    });

    test('prints in every form', async () => {
      expect(await kubectl.run('get rs replicatest -o name')).toBe('replicaset.apps/replicatest\n');
      const object = JSON.parse(await kubectl.run('get rs replicatest -o json'));
      expect(object).toMatchObject({
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        spec: { replicas: 2 },
        status: { readyReplicas: 2, observedGeneration: 1 },
      });
      expect(await kubectl.run('get rs replicatest -o yaml')).toMatch(
        /^apiVersion: apps\/v1\nkind: ReplicaSet\n/,
      );
      expect(
        await kubectl.run(`get pods -o jsonpath='{range .items[*]}{.status.phase}{";"}{end}'`),
      ).toBe('Running;Running;');
      expect(
        await kubectl.run('get rs -o custom-columns=NAME:.metadata.name,WANT:.spec.replicas'),
      ).toBe('NAME          WANT\nreplicatest   2\n');
      expect(shape(await kubectl.run('get rs,pods --show-labels'))).toContain('app=replicatest');
      expect(await kubectl.run('get pods -l app=replicatest -o name')).toMatch(
        /^(pod\/replicatest-\w{5}\n){2}$/,
      );
      expect(await kubectl.run('get pods -l app!=replicatest -o name')).toBe('');
      expect(await kubectl.run('get pods --field-selector=status.phase=Pending -o name')).toBe('');
      expect(await kubectl.run('get pods -A --sort-by=.metadata.name -o name')).toMatch(
        /replicatest/,
      );
      expect(await kubectl.run('get --raw /api/v1/namespaces/default/pods?limit=1')).toContain(
        '"remainingItemCount":1',
      );
    });

    test('describes objects with their events', async () => {
      const text = await kubectl.run('describe rs replicatest');
      expect(text).toMatch(/^Replicas: +2 current \/ 2 desired$/m);
      expect(text).toMatch(/^Pods Status: +2 Running \/ 0 Waiting \/ 0 Succeeded \/ 0 Failed$/m);
      expect(text).toMatch(
        /Normal +SuccessfulCreate .* replicaset-controller +Created pod: replicatest-\w{5}/,
      );
      const pod = await kubectl.run('describe pods -l app=replicatest');
      expect(pod).toMatch(/^Controlled By: +ReplicaSet\/replicatest$/m);
      expect(pod).toMatch(/^QoS Class: +BestEffort$/m);
      expect(pod).toMatch(
        /Normal +Scheduled .* default-scheduler +Successfully assigned default\/replicatest-\w{5} to \S+/,
      );
      expect(pod).toMatch(/Normal +Started .* kubelet/);
      expect(await kubectl.run('describe nodes')).toMatch(
        /^  Ready +True .* KubeletReady +kubelet is posting ready status$/m,
      );
      expect(await kubectl.run('describe ns default')).toMatch(/^Status: +Active$/m);
      expect(await kubectl.run('get events')).toMatch(/SuccessfulCreate/);
    });

    test('explains fields', async () => {
      const text = await kubectl.run('explain rs.spec');
      expect(text).toMatch(/KIND: +ReplicaSet/);
      expect(text).toMatch(/replicas\s+<integer>/);
      expect(text).toMatch(/selector\s+<LabelSelector> -required-/);
      expect(await kubectl.run('explain pod.spec.containers.image')).toMatch(/FIELD: +image/);
      expect(await kubectl.run('explain pods --recursive')).toMatch(
        /terminationGracePeriodSeconds/,
      );
    });

    test('lists the served resources', async () => {
      const resources = await kubectl.run('api-resources');
      expect(resources).toMatch(/^pods +po +v1 +true +Pod$/m);
      expect(resources).toMatch(/^replicasets +rs +apps\/v1 +true +ReplicaSet$/m);
      expect(resources).toMatch(/^leases +coordination\.k8s\.io\/v1 +true +Lease$/m);
      expect((await kubectl.run('api-versions')).split('\n')).toEqual(
        expect.arrayContaining([
          'v1',
          'apps/v1',
          'coordination.k8s.io/v1',
          'authorization.k8s.io/v1',
        ]),
      );
      expect(await kubectl.run('version')).toMatch(/Server Version: .*1\.36\.3/);
      expect(await kubectl.run('cluster-info')).toMatch(/Kubernetes control plane.* is running at/);
      expect(await kubectl.run('get --raw /readyz')).toBe('ok');
    });

    test('scales, labels, annotates, patches, edits', async () => {
      expect(await kubectl.run('scale rs replicatest --replicas=4')).toBe(
        'replicaset.apps/replicatest scaled\n',
      );
      await ready('replicatest', 4);
      await kubectl.run('scale rs replicatest --replicas=2');
      await ready('replicatest', 2);
      expect(await kubectl.run('label rs replicatest tier=front')).toBe(
        'replicaset.apps/replicatest labeled\n',
      );
      expect(await kubectl.run('annotate rs replicatest note=hello')).toMatch(
        /^replicaset\.apps\/replicatest annotated?\n$/,
      );
      expect(await kubectl.run('get rs -l tier=front -o name')).toBe(
        'replicaset.apps/replicatest\n',
      );
      expect(
        await kubectl.run(`patch rs replicatest -p '{"metadata":{"labels":{"tier":"back"}}}'`),
      ).toBe('replicaset.apps/replicatest patched\n');
      expect(
        await kubectl.run(
          `patch rs replicatest --type=merge -p '{"metadata":{"annotations":{"note":null}}}'`,
        ),
      ).toBe('replicaset.apps/replicatest patched\n');
      expect(
        await kubectl.run(
          `patch rs replicatest --type=json -p '[{"op":"add","path":"/metadata/labels/zone","value":"z"}]'`,
        ),
      ).toBe('replicaset.apps/replicatest patched\n');
      expect(await kubectl.run('get rs replicatest -o jsonpath={.metadata.labels}')).toBe(
        '{"app":"replicatest","tier":"back","zone":"z"}',
      );
      const edited = await kubectl.run('edit rs replicatest', {
        env: { EDITOR: 'sed -i s/replicas:.2/replicas:\\ 3/' },
      });
      expect(edited).toBe('replicaset.apps/replicatest edited\n');
      await ready('replicatest', 3);
      expect(await kubectl.run('get rs replicatest -o jsonpath={.metadata.generation}')).toMatch(
        /^[45]$/,
      );
    });

    test('watches', async () => {
      const watch = kubectl.spawn('get pods -w -o name -l app=watched');
      let seen = '';
      watch.stdout?.on('data', (chunk: Buffer) => (seen += chunk.toString()));
      await apply(replicaSet('watched', 1));
      await eventually('the pod on the watch', async () => /pod\/watched-/.test(seen));
      watch.kill();
      await kubectl.run('delete rs watched');
    });

    test('waits for conditions', async () => {
      expect(
        await kubectl.run(`wait --for=condition=Ready pod -l app=replicatest --timeout=20s`),
      ).toMatch(/condition met/);
      expect(
        await kubectl.run(
          `wait --for=jsonpath='{.status.readyReplicas}'=3 rs/replicatest --timeout=20s`,
        ),
      ).toBe('replicaset.apps/replicatest condition met\n');
    });

    test('reports the requesting user', async () => {
      // kubectl before 1.28 asks for preview versions of the review, which Kubernetes 1.36 does not
      // serve either.
      const who = await kubectl.try('auth whoami');
      if (version === '1.27')
        expect(who.stderr).toContain('the selfsubjectreviews API is not enabled in the cluster');
      else {
        expect(who.stdout).toMatch(/Username +kubernetes-admin/);
        expect(who.stdout).toMatch(/Groups +\[system:masters system:authenticated\]/);
      }
      expect(await kubectl.run('auth can-i create pods')).toBe('yes\n');
      const other = await kubectl.try('auth can-i create pods --as=other');
      expect(other.stdout).toBe('no\n');
    });

    test('creates and replaces the other kinds', async () => {
      await kubectl.run('create ns other');
      expect(await kubectl.run('create configmap settings -n other --from-literal=a=b')).toBe(
        'configmap/settings created\n',
      );
      expect(
        await kubectl.run('create secret generic hidden -n other --from-literal=password=x'),
      ).toBe('secret/hidden created\n');
      await kubectl.run('create sa robot -n other');
      expect(shape(await kubectl.run('get cm,secret,sa -n other'))).toContain(
        'secret/hidden Opaque 1 AGE',
      );
      await eventually(
        'the root certificate',
        async () => (await kubectl.try('get cm kube-root-ca.crt -n other')).status === 0,
      );
      await eventually(
        'the default account',
        async () => (await kubectl.try('get sa default -n other')).status === 0,
      );
      expect(await kubectl.run('create service clusterip web -n other --tcp=80:8080')).toBe(
        'service/web created\n',
      );
      expect(shape(await kubectl.run('get svc web -n other'))).toMatch(
        /web ClusterIP 10\.96\.\d+\.\d+ <none> 80\/TCP AGE/,
      );
      const configMap = await kubectl.run('get cm settings -n other -o yaml');
      expect(await kubectl.run('replace -f -', { input: configMap.replace('a: b', 'a: c') })).toBe(
        'configmap/settings replaced\n',
      );
      await kubectl.run('run lone -n other --image=busybox --restart=Never -- sleep 3600');
      await kubectl.run('wait --for=condition=Ready pod/lone -n other --timeout=20s');
      expect(await kubectl.run('delete ns other --timeout=60s')).toBe(
        'namespace "other" deleted\n',
      );
      expect((await kubectl.try('get ns other')).stderr).toBe(
        'Error from server (NotFound): namespaces "other" not found\n',
      );
    });

    test('cordons, drains and uncordons', async () => {
      const node = (await kubectl.run('get nodes -o jsonpath={.items[1].metadata.name}')).trim();
      await kubectl.run(`cordon ${node}`);
      expect(shape(await kubectl.run(`get node ${node}`))).toContain('Ready,SchedulingDisabled');
      await kubectl.run(`drain ${node} --timeout=60s`);
      expect(await kubectl.run(`get pods --field-selector=spec.nodeName=${node} -o name`)).toBe('');
      await kubectl.run(`uncordon ${node}`);
    });

    test('orphans on request; a new ReplicaSet adopts', async () => {
      await apply(replicaSet('orphaner', 2));
      await ready('orphaner', 2);
      const pods = (await kubectl.run('get pods -l app=orphaner -o name')).split('\n').sort();
      expect(await kubectl.run('delete rs orphaner --cascade=orphan')).toMatch(
        /^replicaset.apps "orphaner" deleted/,
      );
      await gone('rs orphaner');
      expect((await kubectl.run('get pods -l app=orphaner -o name')).split('\n').sort()).toEqual(
        pods,
      );
      await apply(replicaSet('orphaner', 2));
      await ready('orphaner', 2);
      expect((await kubectl.run('get pods -l app=orphaner -o name')).split('\n').sort()).toEqual(
        pods,
      );
      expect(
        await kubectl.run(
          'get pods -l app=orphaner -o jsonpath={.items[*].metadata.ownerReferences[*].name}',
        ),
      ).toBe('orphaner orphaner');
      await kubectl.run('delete rs orphaner');
    });

    test('deletes in the background, in the foreground, and pods at once', async () => {
      expect(await kubectl.run('delete rs replicatest')).toMatch(
        /^replicaset.apps "replicatest" deleted/,
      );
      await gone('pods -l app=replicatest');
      await apply(replicaSet('fore', 2));
      await ready('fore', 2);
      await kubectl.run('delete rs fore --cascade=foreground --timeout=60s');
      expect(await kubectl.run('get pods -l app=fore -o name')).toBe('');
    });
  },
);
