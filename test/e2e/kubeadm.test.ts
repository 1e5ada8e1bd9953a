// kubeadm builds a cluster of our roles: it writes certificates, kubeconfigs, static pods and the
// kubelet's configuration, our programs are started with these command lines and files, and the rest
// of its phases runs against them, on a control plane and on a node that joins. Both are machines of
// their own (kubeadm/host.ts).

import { createHash, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseYaml } from '#api/machinery/codec/index.ts';
import type { CertificateSigningRequest } from '#api/groups/certificates/v1/index.ts';
import type { Node } from '#api/groups/core/v1/index.ts';
import { builtCommand, builtEtcd } from '../conformance/binaries.ts';
import { coxArgs, eventually, named } from './harness.ts';
import { Host, hostIsMissing, type Program } from './kubeadm/host.ts';

const kubeadm = builtCommand('kubeadm');
const etcd = builtEtcd();
const missing =
  kubeadm === undefined || etcd === undefined
    ? "upstream's kubeadm and etcd are not built: npx tsx test/e2e/kubeadm/main.ts"
    : hostIsMissing();

const MANIFESTS = '/etc/kubernetes/manifests';
const PKI = '/etc/kubernetes/pki';
const TOKEN = 'abcdef.0123456789abcdef';
const CRI = '/var/lib/containerd-of-test.sock';
const CONTAINERD = `version = 2
root = "/var/lib/containerd-of-test"
state = "/var/lib/containerd-of-test-state"
[grpc]
address = "${CRI}"
`;
const API = 'apiVersion: kubeadm.k8s.io/v1beta4';
/** Long, since the programs of a control plane start at once, and the machine may be busy. */
const TIMEOUT_MS = 240_000;

describe.skipIf(missing !== undefined)(named('kubeadm', missing), () => {
  let control: Host;
  let worker: Host;
  const roles = new Map<string, Program>();

  const runKubeadm = async (host: Host, ...args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await host.run(kubeadm!, args, TIMEOUT_MS);
    expect(status, `kubeadm ${args.join(' ')}:\n${stdout}${stderr}`).toBe(0);
    return stdout;
  };

  /** Runs phases of `kubeadm init`, and returns what they say. */
  const phases = async (...names: string[]): Promise<string> => {
    let said = '';
    for (const name of names) {
      // This phase has no configuration.
      const config = name === 'wait-control-plane' ? [] : ['--config', '/etc/kubeadm.yaml'];
      said += await runKubeadm(control, 'init', 'phase', ...name.split(' '), ...config);
    }
    return said;
  };

  /** Starts a role, and resolves when it is ready. */
  const startRole = async (
    host: Host,
    role: string,
    flags: readonly string[],
  ): Promise<Program> => {
    const program = host.start(process.execPath, [...coxArgs, role, ...flags]);
    await eventually(
      `${role} is ready`,
      () => {
        if (program.hasEnded()) throw new Error(program.output());
        return Promise.resolve(/^ready: /m.test(program.output()));
      },
      TIMEOUT_MS,
    );
    return program;
  };

  /** Returns the arguments of a static pod. */
  const argumentsOf = (component: string): readonly string[] => {
    const pod = parseYaml(control.read(`${MANIFESTS}/${component}.yaml`)) as {
      readonly spec: { readonly containers: readonly { readonly command: readonly string[] }[] };
    };
    return pod.spec.containers[0]!.command.slice(1);
  };

  /** Starts the kubelet as the unit of kubeadm's packages does. */
  const startKubelet = (host: Host): Promise<Program> => {
    const [, flags = ''] = /^KUBELET_KUBEADM_ARGS="(.*)"$/m.exec(
      host.read('/var/lib/kubelet/kubeadm-flags.env'),
    )!;
    return startRole(host, 'kubelet', [
      '--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf',
      '--kubeconfig=/etc/kubernetes/kubelet.conf',
      '--config=/var/lib/kubelet/config.yaml',
      ...flags.split(' '),
      '--root-dir=/var/lib/kubelet',
    ]);
  };

  const prepare = (host: Host, config: string): void => {
    host.write('/etc/kubeadm.yaml', config);
    host.write('/etc/containerd-of-test.toml', CONTAINERD);
    host.start('containerd', ['--config', '/etc/containerd-of-test.toml']);
  };

  const kubectl = async (...args: string[]): Promise<string> => {
    const admin = ['--kubeconfig', '/etc/kubernetes/admin.conf'];
    const { stdout, stderr, status } = await control.run('kubectl', [...admin, ...args]);
    expect(status, stderr).toBe(0);
    return stdout;
  };

  /** Returns the flags and settings that a role warned of. */
  const warnedOf = (program: Program): readonly string[] =>
    [...program.output().matchAll(/^cox: warning: (?:--config: )?(?:--)?([\w-]+)/gm)].map(
      ([, name]) => name!,
    );

  beforeAll(async () => {
    control = await Host.start('192.0.2.10');
    worker = await Host.start('192.0.2.11', control);
    prepare(
      control,
      `${API}
kind: InitConfiguration
localAPIEndpoint: { advertiseAddress: ${control.address} }
nodeRegistration: { name: control-1, criSocket: 'unix://${CRI}' }
bootstrapTokens: [{ token: ${TOKEN} }]
---
${API}
kind: ClusterConfiguration
kubernetesVersion: v1.36.3
networking: { podSubnet: 10.244.0.0/16 }
`,
    );
    await phases('certs all', 'kubeconfig all', 'etcd local');
    await phases('control-plane all', 'kubelet-start');
  }, TIMEOUT_MS);
  afterAll(async () => {
    await worker?.stop();
    await control?.stop();
  });

  test(
    'its command lines start the control plane',
    async () => {
      control.start(etcd!, argumentsOf('etcd'));
      for (const [component, role] of [
        ['kube-apiserver', 'apiserver'],
        ['kube-controller-manager', 'controller-manager'],
        ['kube-scheduler', 'scheduler'],
      ] as const)
        roles.set(role, await startRole(control, role, argumentsOf(component)));
      roles.set('kubelet', await startKubelet(control));
      // The lists of src/cli/upstream/kubeadm.test.ts; the runtime has its own driver of cgroups.
      expect(Object.fromEntries([...roles].map(([role, each]) => [role, warnedOf(each)]))).toEqual({
        apiserver: [],
        'controller-manager': ['authentication-kubeconfig', 'authorization-kubeconfig'],
        scheduler: ['authentication-kubeconfig', 'authorization-kubeconfig'],
        kubelet: ['cgroupDriver'],
      });
    },
    TIMEOUT_MS,
  );

  test(
    'the rest of its phases find a cluster',
    async () => {
      const healthy = await phases('wait-control-plane');
      for (const name of ['kubelet', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'])
        expect(healthy).toMatch(new RegExp(`(The )?${name} is healthy`));
      await phases('upload-config all', 'mark-control-plane', 'bootstrap-token');
      const addons = await phases('addon all');
      expect(addons).toContain('Applied essential addon: CoreDNS');
      expect(addons).toContain('Applied essential addon: kube-proxy');
      const { metadata, spec } = JSON.parse(
        await kubectl('get', 'node', 'control-1', '-o', 'json'),
      ) as Node;
      expect(metadata.labels).toHaveProperty(['node-role.kubernetes.io/control-plane'], '');
      expect(spec.taints).toContainEqual({
        key: 'node-role.kubernetes.io/control-plane',
        effect: 'NoSchedule',
      });
    },
    TIMEOUT_MS,
  );

  test(
    'the kubelet goes on with the certificate that kubeadm finds',
    async () => {
      const said = await phases('kubelet-finalize all');
      expect(said).toContain('to point to a rotatable kubelet client certificate and key');
      const current = '/var/lib/kubelet/pki/kubelet-client-current.pem';
      expect(control.read('/etc/kubernetes/kubelet.conf')).toContain(current);
      roles.get('kubelet')!.process.kill('SIGTERM');
      await eventually('the kubelet has ended', () =>
        Promise.resolve(roles.get('kubelet')!.hasEnded()),
      );
      await startKubelet(control);
    },
    TIMEOUT_MS,
  );

  test(
    'a node joins by a token',
    async () => {
      const authority = new X509Certificate(control.read(`${PKI}/ca.crt`));
      const key = authority.publicKey.export({ type: 'spki', format: 'der' });
      const hash = createHash('sha256').update(key).digest('hex');
      prepare(
        worker,
        `${API}
kind: JoinConfiguration
discovery:
  bootstrapToken:
    { apiServerEndpoint: '${control.address}:6443', token: ${TOKEN}, caCertHashes: ['sha256:${hash}'] }
nodeRegistration: { name: worker-1, criSocket: 'unix://${CRI}' }
`,
      );
      const config = ['--config', '/etc/kubeadm.yaml', '--skip-phases', 'preflight'];
      const joined = runKubeadm(worker, 'join', ...config);
      // It is awaited after the kubelet.
      joined.catch(() => undefined);
      // kubeadm starts the service of the kubelet here, and waits for its certificate.
      await eventually(
        'kubeadm has written what the kubelet needs',
        () => Promise.resolve(worker.has('/var/lib/kubelet/kubeadm-flags.env')),
        TIMEOUT_MS,
      );
      await startKubelet(worker);
      expect(await joined).toContain('This node has joined the cluster');
      const { items } = JSON.parse(await kubectl('get', 'csr', '-o', 'json')) as {
        readonly items: readonly CertificateSigningRequest[];
      };
      expect(items.filter(({ spec }) => spec.username === 'system:bootstrap:abcdef')).toMatchObject(
        [
          {
            spec: { signerName: 'kubernetes.io/kube-apiserver-client-kubelet' },
            status: { certificate: expect.any(String) as string },
          },
        ],
      );
      const columns = 'jsonpath={.items[*].metadata.name}';
      expect(await kubectl('get', 'nodes', '-o', columns)).toBe('control-1 worker-1');
    },
    TIMEOUT_MS,
  );
});
