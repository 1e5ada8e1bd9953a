// The commands of roles that run apart, with their flags: named as those of the field's components are.

import { type Command, Option } from 'commander';
import { count, duration, labels, list, port, settings, yesOrNo } from './flags.ts';

export function addRoleCommands(program: Command): void {
  addApiServer(program);
  addControllerManager(program);
  addScheduler(program);
  addKubelet(program);
  addCerts(program);
}

function withLogging(command: Command): Command {
  return command
    .addOption(new Option('--log-format <format>', 'form of the log').choices(['text', 'json']).default('text'))
    .option('-v, --verbose', 'log what it does', false);
}

function addApiServer(program: Command): void {
  withLogging(
    program
      .command('apiserver')
      .description('an API server alone, on an etcd that several may share')
      .requiredOption('--etcd-servers <urls>', 'members of the etcd cluster, with commas between them', list)
      .option('--etcd-cafile <file>', "certificate authority of etcd's certificates (PEM)")
      .option('--etcd-certfile <file>', 'certificate to show to etcd (PEM)')
      .option('--etcd-keyfile <file>', "that certificate's key (PEM)")
      .option('--etcd-prefix <prefix>', 'what the keys in etcd begin with (default: /registry)')
      .option('--bind-address <address>', 'address that it listens on', '0.0.0.0')
      .option('--secure-port <port>', 'port that it listens on; 0 picks a free one', port, 6443)
      .option('--advertise-address <address>', "by which pods and nodes reach it (default: the bind address, or the machine's)")
      .option('--service-cluster-ip-range <cidrs>', 'addresses of services: one range, or one of each family', '10.96.0.0/16')
      .option('--service-node-port-range <ports>', 'ports of nodes that services get', '30000-32767')
      .option('--cert-dir <dir>', "where the files are that no flag names: those of 'cox certs init'")
      .option('--tls-cert-file <file>', 'its certificate (default: CERT-DIR/apiserver.crt)')
      .option('--tls-private-key-file <file>', "that certificate's key (default: CERT-DIR/apiserver.key)")
      .option('--client-ca-file <file>', 'who signs the certificates of clients (default: CERT-DIR/ca.crt)')
      .option('--kubelet-client-certificate <file>', 'to show to kubelets (default: CERT-DIR/apiserver-kubelet-client.crt)')
      .option('--kubelet-client-key <file>', "that certificate's key (default: CERT-DIR/apiserver-kubelet-client.key)")
      .option('--kubelet-certificate-authority <file>', "who signs the kubelets' certificates (default: as for clients)")
      .option('--service-account-signing-key-file <file>', 'signs tokens of ServiceAccounts (default: CERT-DIR/sa.key)')
      .option('--service-account-issuer <url>', 'who their issuer is (default: https://kubernetes.default.svc.cluster.local)')
      .option(
        '--runtime-config <settings>',
        "what is served: 'api/all=true', 'group/version=false', 'group/version/resource=true' … (default: stable versions)",
        settings,
      )
      .option('--encryption-provider-config <file>', 'an EncryptionConfiguration: what is encrypted in the store')
      .option('--disable-admission-plugins <names>', 'admission plugins that are left out', list),
  ).action(async (options) => (await import('./roles.ts')).apiServer(options));
}

function withLeaderElection(command: Command, name: string): Command {
  return command
    .option('--leader-elect [bool]', 'work only while it holds the lease, so that several may run', yesOrNo, true)
    .option('--leader-elect-lease-duration <duration>', 'how long others wait after the last renewal', duration, 15_000)
    .option('--leader-elect-renew-deadline <duration>', 'how long the leader tries to renew before it gives up', duration, 10_000)
    .option('--leader-elect-retry-period <duration>', 'between two tries', duration, 2000)
    .option('--leader-elect-resource-name <name>', 'name of the lease', name)
    .option('--leader-elect-resource-namespace <namespace>', 'its namespace', 'kube-system');
}

function withServing(command: Command, defaultPort: number): Command {
  return command
    .requiredOption('--kubeconfig <file>', 'who it is, and where the API server is')
    .option('--bind-address <address>', 'address that it says at whether it is well', '0.0.0.0')
    .option('--secure-port <port>', 'port of that', port, defaultPort)
    .option('--tls-cert-file <file>', 'its certificate (default: one that nobody has signed)')
    .option('--tls-private-key-file <file>', "that certificate's key");
}

function addControllerManager(program: Command): void {
  const command = withServing(program.command('controller-manager').description('the controllers alone'), 10_257);
  withLogging(withLeaderElection(command, 'kube-controller-manager'))
    .option('--controllers <names>', "which run: '*' all, 'foo' this one, '-foo' not this one", list, ['*'])
    .option('--use-service-account-credentials [bool]', 'each controller as an account of its own', yesOrNo, true)
    .option('--cluster-cidr <cidrs>', 'addresses of pods, of which each node gets a part (default: nodes get none)')
    .option('--service-cluster-ip-range <cidrs>', 'addresses of services, of which nodes get none')
    .option('--cert-dir <dir>', "where the files are that no flag names: those of 'cox certs init'")
    .option('--root-ca-file <file>', 'published in every namespace (default: CERT-DIR/ca.crt)')
    .option('--cluster-signing-cert-file <file>', 'the authority that signs approved certificate requests (default: nobody does)')
    .option('--cluster-signing-key-file <file>', "that authority's key")
    .option('--cluster-signing-duration <duration>', 'for how long it signs at most (default: 8760h)', duration)
    .option('--service-account-private-key-file <file>', 'signs tokens in Secrets (default: CERT-DIR/sa.key)')
    .action(async (options) => (await import('./roles.ts')).controllerManager(options));
}

function addScheduler(program: Command): void {
  const command = withServing(program.command('scheduler').description('the scheduler alone'), 10_259);
  withLogging(withLeaderElection(command, 'kube-scheduler'))
    .option('--config <file>', 'a KubeSchedulerConfiguration (v1) in YAML')
    .action(async (options) => (await import('./roles.ts')).scheduler(options));
}

function addKubelet(program: Command): void {
  withLogging(
    program
      .command('kubelet')
      .description('this machine as a node of a cluster')
      .requiredOption('--kubeconfig <file>', 'who it is (system:node:NAME), and where the API server is')
      .option('--hostname-override <name>', "the node's name (default: the machine's)")
      .option('--data-dir <dir>', 'where the runtime keeps its state', '.coxswain-node')
      .option('--root-dir <dir>', 'volumes and pod data (default: DATA-DIR/kubelet)')
      .addOption(
        new Option('--runtime <runtime>', 'what runs the containers; auto: containerd where it can be had, else host processes')
          .choices(['auto', 'containerd', 'process', 'simulated'])
          .default('auto'),
      )
      .option('--container-runtime-endpoint <socket>', 'CRI socket of a runtime that is already there')
      .option('--address <address>', "address that the kubelet's own server listens on", '0.0.0.0')
      .option('--port <port>', 'port of that', port, 10_250)
      .option('--cert-dir <dir>', "where the files are that no flag names: those of 'cox certs node'")
      .option('--tls-cert-file <file>', 'its certificate (default: CERT-DIR/kubelet-NAME.crt)')
      .option('--tls-private-key-file <file>', "that certificate's key (default: CERT-DIR/kubelet-NAME.key)")
      .option('--client-ca-file <file>', 'who signs the certificates of API servers (default: CERT-DIR/ca.crt)')
      .option('--pod-cidr <cidr>', 'addresses of its pods (default: what the node has already)')
      .option('--node-ip <address>', "the node's address (default: the machine's)")
      .option('--node-labels <labels>', 'labels of the node: a=b,c=d', labels)
      .option('--max-pods <number>', 'so many pods run on it (default: 110)', count)
      .option('--pod-manifest-path <dir>', 'manifests of pods that run here whatever the API says')
      .option('--cluster-dns <addresses>', "addresses of the cluster's DNS", list)
      .option('--cluster-domain <domain>', "the cluster's domain (default: cluster.local)")
      .option('--no-install', 'never install containerd, runc and the CNI plugins with apt-get'),
  ).action(async (options) => (await import('./roles.ts')).kubelet(options));
}

function addCerts(program: Command): void {
  const certs = program
    .command('certs')
    .description('certificates and kubeconfigs of roles that run apart')
    .addHelpText(
      'after',
      `
Examples:
  $ cox certs init --cert-dir pki --hosts api.example.org,10.0.0.5
  $ cox certs kubeconfig scheduler --cert-dir pki --server https://api.example.org:6443 -o scheduler.conf
  $ cox certs node worker-1 --cert-dir pki --hosts 10.0.0.7`,
    );
  certs
    .command('init')
    .description('the authority, and what API servers need; what is there and still serves stays')
    .option('--cert-dir <dir>', 'where the files are', 'pki')
    .option('--hosts <hosts>', 'names and addresses by which the API servers are reached', list, [])
    .option('--service-cluster-ip-range <cidrs>', 'addresses of services', '10.96.0.0/16')
    .action(async (options) => (await import('./certs.ts')).init(options));
  certs
    .command('kubeconfig')
    .description('a kubeconfig with a certificate of its own, for one role')
    .argument('<role>', 'admin, controller-manager, scheduler or kubelet')
    .requiredOption('--server <url>', 'the API server, such as https://10.0.0.5:6443')
    .option('--cert-dir <dir>', "the authority's directory", 'pki')
    .option('--node <name>', 'the node, for the role kubelet')
    .option('-o, --output <file>', 'the file to write (default: ROLE.conf)')
    .action(async (role, options) => (await import('./certs.ts')).kubeconfig(role, options));
  certs
    .command('node')
    .description('what the kubelet of a node serves with')
    .argument('<name>', 'of the node')
    .option('--cert-dir <dir>', "the authority's directory", 'pki')
    .option('--hosts <hosts>', 'names and addresses by which the API servers reach it', list, [])
    .action(async (name, options) => (await import('./certs.ts')).node(name, options));
}
