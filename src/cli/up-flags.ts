// The flags of `cox up`.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { withAccessFlags } from './access-flags.ts';
import { withAuditFlags } from './audit-flags.ts';
import type { Build } from './build.ts';
import {
  address,
  addresses,
  consoleOption,
  dataDirOption,
  list,
  POOL_HELP,
  port,
  settings,
  yesOrNo,
} from './flags.ts';
import { outputOption } from './inspect/output.ts';
import { thresholds } from './node-resource-flags.ts';
import { withOidcFlags } from './oidc-flags.ts';
import { podNetworkOption, vxlanIdOption, vxlanPortOption } from './pod-network-flags.ts';
import { runtimeOption } from './role-commands/common-flags.ts';
import { withWorkerFlags } from './worker-flags.ts';

const nodeCount = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 100_000)
    throw new InvalidArgumentError('a number of nodes is from 1 to 100000.');
  return value;
};

export function addUp(program: Command, build?: Build): void {
  const up = program
    .command('up')
    .description(
      'start a cluster and keep it running until Ctrl-C (or in the background with --detach)',
    )
    .optionsGroup('The cluster:')
    .addOption(dataDirOption('where the cluster keeps its data, certificates and logs'))
    .option('--secure-port <port>', 'port of the API server; 0 picks a free one', port, 6443)
    .option('--bind <address>', 'address that the API server listens on', address, '127.0.0.1')
    .addOption(consoleOption())
    .option('--kubeconfig <path>', 'where to write the kubeconfig (default: DATA-DIR/kubeconfig)')
    .option(
      '--merge-kubeconfig',
      "also add the cluster to the user's own kubeconfig (KUBECONFIG or ~/.kube/config)",
    )
    .option(
      '--runtime-config <settings>',
      "what is served: 'api/all=true', 'group/version=false', 'group/version/resource=true' " +
        '… (default: stable versions)',
      settings,
    )
    .option(
      '--controllers <names>',
      "which controllers run: '*' all, 'foo' this one, '-foo' not this one (default: all)",
      list,
    )
    .option('--scheduler-config <file>', 'a KubeSchedulerConfiguration (v1) in YAML')
    .optionsGroup('The store:')
    .addOption(
      new Option(
        '--store <engine>',
        'where objects are kept: on disk, in memory (gone with the process), or on an etcd cluster (3.4 or later)',
      )
        .choices(['embedded', 'memory', 'etcd'])
        .default('embedded'),
    )
    .option(
      '--etcd-servers <urls>',
      'members of the etcd cluster, separated by commas',
      (text: string) => text.split(','),
    )
    .option('--etcd-cafile <file>', "certificate authority of etcd's certificates (PEM)")
    .option('--etcd-certfile <file>', 'client certificate for etcd (PEM)')
    .option('--etcd-keyfile <file>', 'key of the client certificate for etcd (PEM)')
    .option('--etcd-prefix <prefix>', 'beginning of all keys in etcd (default: /registry)')
    .option(
      '--encryption-provider-config <file>',
      'an EncryptionConfiguration: what is encrypted in the store, and the keys',
    )
    .option(
      '--encryption-provider-config-automatic-reload [bool]',
      'read that file again when it changes',
      yesOrNo,
    )
    .optionsGroup('Nodes and containers:')
    .option('--nodes <count>', 'number of nodes; those after the first are simulated', nodeCount, 1)
    .addOption(runtimeOption())
    .option(
      '--container-runtime-endpoint <socket>',
      'CRI socket of a runtime that is already there, such as unix:///run/containerd/containerd.sock',
    )
    .option(
      '--images <dir>',
      'import the images in this folder into containerd: archives (docker save, OCI) and OCI layouts',
    )
    .option('--no-install', 'never install containerd, runc and the CNI plugins with apt-get')
    .option(
      '--root-dir <dir>',
      "the kubelet's directory: volumes and pod data (default: DATA-DIR/kubelet)",
    )
    .option(
      '--eviction-hard <thresholds>',
      'evict pods of this machine below these: memory.available<500Mi,nodefs.available<5% ' +
        '(default: below 100Mi of memory, 1% of the disk)',
      thresholds,
    )
    .option(
      '--cgroup-root <path>',
      "cgroup below which pods of this machine get cgroups of their own: / or /NAME (default: the runtime's choice)",
    )
    .option(
      '--csi-driver',
      'run the reference CSI driver on this machine (storage classes csi-directory and csi-image)',
    )
    .optionsGroup('The network:')
    .option(
      '--pod-cidr <cidrs>',
      'addresses of pods: one range, or one of each IP family, separated by a comma ' +
        '(default: 10.244.0.0/16, wider for more than 256 nodes)',
    )
    .addOption(podNetworkOption())
    .addOption(vxlanIdOption())
    .addOption(vxlanPortOption())
    .option(
      '--service-cidr <cidrs>',
      'addresses of services: one range, or one of each IP family, separated by a comma',
      '10.96.0.0/16',
    )
    .option('--load-balancer-pool <ranges>', POOL_HELP)
    .option(
      '--dns',
      "run the cluster's DNS (default: with containerd, if its address and port are free)",
    )
    .option('--no-dns', "run no DNS: pods have the node's name servers")
    .option('--no-network-policy', 'do not enforce network policies: for a CNI plugin that does')
    .option(
      '--cluster-domain <domain>',
      'domain of the names of services and pods (default: cluster.local)',
    )
    .optionsGroup('Ingresses and Gateways:')
    .option('--ingress', 'serve Ingresses and Gateways (GatewayClass and IngressClass: coxswain)')
    .option(
      '--ingress-address <addresses>',
      "addresses at which they are served, separated by commas (default: the machine's and 127.0.0.1)",
      addresses,
    )
    .option('--ingress-http-port <port>', 'port of Ingresses without TLS (default: 80)', port)
    .option('--ingress-https-port <port>', 'port of Ingresses with TLS (default: 443)', port)
    .option(
      '--ingress-trusted-proxies <ranges>',
      'proxies whose X-Forwarded headers are kept (default: none)',
      list,
    )
    .option('--ingress-access-log', 'log every request (with --verbose)')
    .option(
      '--gateway-addresses <ranges>',
      'addresses of this machine of which each Gateway gets one (default: Gateways share the addresses of Ingresses)',
      list,
    )
    .optionsGroup('Output:')
    .option('--detach', 'leave the cluster running in the background once it is ready')
    .option('--quiet', 'print only the line that says that the cluster is ready')
    .addOption(outputOption())
    .addOption(
      new Option('--log-format <format>', 'form of the log')
        .choices(['text', 'json'])
        .default('text'),
    )
    .option('-v, --verbose', 'log what the components do', false)
    .addHelpText(
      'after',
      `
Examples:
  $ cox up                                       a cluster on https://127.0.0.1:6443, data in ./.coxswain
  $ cox up --runtime simulated --nodes 20        twenty nodes whose pods only pretend; no root needed
  $ cox up --detach && export KUBECONFIG=$PWD/.coxswain/kubeconfig && kubectl get nodes
  $ cox down                                     stops a cluster started with --detach`,
    );
  withAccessFlags(up.optionsGroup('Who may do what:'));
  withOidcFlags(up.optionsGroup('Sign-in at an OpenID Connect provider:'));
  withAuditFlags(up.optionsGroup('The audit log:'));
  withWorkerFlags(up.optionsGroup('Several cores:'));
  up.action(async (options) => {
    const { up: start } = await import('./up.ts');
    await start(options, build);
  });
}
