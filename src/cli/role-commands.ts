// The commands of separate roles. Their flags have the names of upstream's components; upstream/
// has the disposition of each flag.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { KUBERNETES_VERSION } from '#cluster/version.ts';
import {
  addresses,
  consoleOption,
  count,
  duration,
  integer,
  ipAddress,
  labels,
  list,
  logLevel,
  POOL_HELP,
  port,
  repeated,
  settings,
  wholeNumber,
  yesOrNo,
} from './flags.ts';
import { withNodeResourceFlags } from './node-resource-flags.ts';
import { withOidcFlags } from './oidc-flags.ts';
import { outputOption } from './inspect/output.ts';
import { podNetworkOption, vxlanIdOption, vxlanPortOption } from './pod-network-flags.ts';
import type { UpstreamFlag } from './upstream/flag.ts';
import { KUBE_APISERVER_FLAGS } from './upstream/kube-apiserver.ts';
import { KUBE_CONTROLLER_MANAGER_FLAGS } from './upstream/kube-controller-manager.ts';
import { KUBE_PROXY_FLAGS } from './upstream/kube-proxy.ts';
import { KUBE_SCHEDULER_FLAGS } from './upstream/kube-scheduler.ts';
import { KUBELET_FLAGS } from './upstream/kubelet.ts';

/** The flags of the upstream component whose place a command takes. */
export const UPSTREAM_FLAGS: ReadonlyMap<string, readonly UpstreamFlag[]> = new Map([
  ['apiserver', KUBE_APISERVER_FLAGS],
  ['controller-manager', KUBE_CONTROLLER_MANAGER_FLAGS],
  ['scheduler', KUBE_SCHEDULER_FLAGS],
  ['kubelet', KUBELET_FLAGS],
  ['proxy', KUBE_PROXY_FLAGS],
]);

export function addRoleCommands(program: Command): void {
  addApiServer(program);
  addControllerManager(program);
  addScheduler(program);
  addKubelet(program);
  addProxy(program);
  addDns(program);
  addRuntime(program);
  addIngress(program);
  addCsiDriver(program);
  addCerts(program);
}

/** Parses the value of --version=v…: the version that is spoken, with or without a suffix of the user's. */
function reportedVersion(text: string): string {
  const { gitVersion } = KUBERNETES_VERSION;
  if (new RegExp(`^${gitVersion.replaceAll('.', '\\.')}([-+][0-9A-Za-z.+-]{1,64})?$`).test(text))
    return text;
  throw new InvalidArgumentError(
    `a reported version is ${gitVersion}, with or without a suffix such as ${gitVersion}-mine`,
  );
}

/** Flags that every role has. */
function withLogFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--log-format <format>', 'form of the log')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addOption(new Option('--logging-format <format>', 'the same').choices(['text', 'json']))
    .option('--verbose', 'log what it does, as -v 4', false)
    .option(
      '-v, --v <level>',
      'how much is logged: 0 warnings and errors, 1 to 3 also what it does, 4 and more everything',
      logLevel,
      0,
    )
    .version(
      `Kubernetes ${KUBERNETES_VERSION.gitVersion}`,
      '--version',
      'print the version of Kubernetes that it speaks',
    );
}

function withCommonFlags(command: Command): Command {
  return withLogFlags(command)
    .option(
      '--feature-gates <settings>',
      'gates of Kubernetes: those with their default values are accepted, others warned of',
    )
    .addHelpText(
      'after',
      `
Other flags of Kubernetes' component are accepted, too: with a warning if they change nothing, with \
an error if leaving them
out would be wrong.`,
    );
}

function addApiServer(program: Command): void {
  const command = withCommonFlags(
    program
      .command('apiserver')
      .description(
        'run an API server alone, on an etcd that several may share or with a store in memory',
      )
      .addOption(
        new Option('--store <engine>', 'where objects are kept; memory: gone with the process')
          .choices(['etcd', 'memory'])
          .default('etcd'),
      )
      .option(
        '--with-controllers <names>',
        "run the scheduler and these controllers here, with --store memory: '*' all, 'foo' " +
          "this one, '-foo' not this one",
        list,
      )
      .option(
        '--with-nodes <count>',
        'run so many simulated nodes here, with --store memory',
        wholeNumber,
      )
      .addOption(
        new Option('--reported-version <version>', 'as --version=v…')
          .argParser(reportedVersion)
          .hideHelp(),
      )
      .option('--etcd-servers <urls>', 'members of the etcd cluster, separated by commas', list)
      .option('--etcd-cafile <file>', "certificate authority of etcd's certificates (PEM)")
      .option('--etcd-certfile <file>', 'client certificate for etcd (PEM)')
      .option('--etcd-keyfile <file>', 'key of the client certificate for etcd (PEM)')
      .option('--etcd-prefix <prefix>', 'beginning of all keys in etcd (default: /registry)')
      .option('--bind-address <address>', 'address to listen on', ipAddress, '0.0.0.0')
      .option('--secure-port <port>', 'port to listen on; 0 picks a free one', port, 6443)
      .addOption(consoleOption())
      .option(
        '--advertise-address <address>',
        "address by which pods and nodes reach the server (default: the bind address, or the machine's)",
        ipAddress,
      )
      .option(
        '--service-cluster-ip-range <cidrs>',
        'addresses of services: one range, or one of each IP family',
        '10.96.0.0/16',
      )
      .option('--service-node-port-range <ports>', 'node ports of services', '30000-32767')
      .option(
        '--cert-dir <dir>',
        "directory of files that no flag names, as 'cox certs init' makes them; without " +
          'apiserver.crt in it, one is made',
      )
      .option('--tls-cert-file <file>', 'serving certificate (default: CERT-DIR/apiserver.crt)')
      .option(
        '--tls-private-key-file <file>',
        'key of the serving certificate (default: CERT-DIR/apiserver.key)',
      )
      .option(
        '--tls-min-version <version>',
        'lowest version of TLS: VersionTLS12 or VersionTLS13 (default: VersionTLS12)',
      )
      .option(
        '--tls-cipher-suites <names>',
        "cipher suites of TLS 1.2, by Go's names (default: Node's)",
        list,
      )
      .option(
        '--client-ca-file <file>',
        'authority of client certificates (default: CERT-DIR/ca.crt; without, none is accepted)',
      )
      .option(
        '--token-auth-file <file>',
        'static bearer tokens: lines of token,user,uid,"group1,group2"',
      )
      .option(
        '--anonymous-auth [bool]',
        'authorize requests without credentials as system:anonymous (default: those for health and version)',
        yesOrNo,
      )
      .option(
        '--authorization-mode <modes>',
        'authorizers, in their order: Node, RBAC, AlwaysAllow, AlwaysDeny (default: Node,RBAC)',
        list,
      )
      .option(
        '--kubelet-client-certificate <file>',
        'client certificate for kubelets (default: CERT-DIR/apiserver-kubelet-client.crt; without, no logs and exec)',
      )
      .option(
        '--kubelet-client-key <file>',
        'key of the client certificate for kubelets (default: CERT-DIR/apiserver-kubelet-client.key)',
      )
      .option(
        '--kubelet-certificate-authority <file>',
        "authority of kubelets' certificates (default: that of clients)",
      )
      .option(
        '--proxy-client-cert-file <file>',
        'client certificate for other API servers (default: CERT-DIR/front-proxy-client.crt)',
      )
      .option(
        '--proxy-client-key-file <file>',
        'key of that certificate (default: CERT-DIR/front-proxy-client.key)',
      )
      .option(
        '--requestheader-client-ca-file <file>',
        'authority of front proxies, whose headers name users (default: ' +
          'CERT-DIR/front-proxy-ca.crt; without, there are none)',
      )
      .option(
        '--requestheader-allowed-names <names>',
        'common names of front proxies (default with CERT-DIR: front-proxy-client)',
        list,
      )
      .option(
        '--requestheader-username-headers <names>',
        'headers with the user (default with CERT-DIR: X-Remote-User)',
        list,
      )
      .option(
        '--requestheader-uid-headers <names>',
        'headers with the uid (default with CERT-DIR: X-Remote-Uid)',
        list,
      )
      .option(
        '--requestheader-group-headers <names>',
        'headers with groups (default with CERT-DIR: X-Remote-Group)',
        list,
      )
      .option(
        '--requestheader-extra-headers-prefix <prefixes>',
        'beginnings of headers with extra fields (default with CERT-DIR: X-Remote-Extra-)',
        list,
      )
      .option(
        '--aggregator-reject-forwarding-redirect [bool]',
        'answer redirects of other API servers with 502',
        yesOrNo,
        true,
      )
      .option(
        '--service-account-signing-key-file <file>',
        'RSA or EC key that signs tokens of ServiceAccounts (default: CERT-DIR/sa.key)',
      )
      .option(
        '--service-account-key-file <file>',
        'public keys or certificates whose tokens are accepted, beside the signing key; may be repeated',
        repeated,
      )
      .option(
        '--service-account-issuer <url>',
        'issuer of tokens; may be repeated: the others are accepted (default: ' +
          'https://kubernetes.default.svc.cluster.local)',
        repeated,
      )
      .option(
        '--service-account-jwks-uri <url>',
        'address at which the public keys are published (default: /openid/v1/jwks of the server)',
      )
      .option(
        '--service-account-max-token-expiration <duration>',
        'longest lifetime of tokens; 0 is no limit',
        duration,
        0,
      )
      .option(
        '--api-audiences <names>',
        'audiences of tokens for this server (default: the issuers)',
        list,
      )
      .option(
        '--enable-priority-and-fairness [bool]',
        'divide the requests at a time, reads and writes, by FlowSchemas and priority levels',
        yesOrNo,
        true,
      )
      .option(
        '--max-requests-inflight <count>',
        'reads at a time; more wait, 0 is no limit',
        wholeNumber,
        400,
      )
      .option(
        '--max-mutating-requests-inflight <count>',
        'writes at a time; more wait, 0 is no limit',
        wholeNumber,
        200,
      )
      .option(
        '--request-timeout <duration>',
        'deadline of requests that are not long-running',
        duration,
        60_000,
      )
      .option(
        '--shutdown-delay-duration <duration>',
        'how long the server still serves after it was stopped, while /readyz fails',
        duration,
        0,
      )
      .option(
        '--min-request-timeout <seconds>',
        'seconds that a watch lasts at least',
        wholeNumber,
        1800,
      )
      .option('--event-ttl <duration>', 'how long events are kept', duration, 3_600_000)
      .option(
        '--default-not-ready-toleration-seconds <seconds>',
        'how long pods stay on a node that is not ready',
        integer,
        300,
      )
      .option(
        '--default-unreachable-toleration-seconds <seconds>',
        'how long pods stay on an unreachable node',
        integer,
        300,
      )
      .option(
        '--runtime-config <settings>',
        "what is served: 'api/all=true', 'group/version=false', " +
          "'group/version/resource=true' … (default: stable versions)",
        settings,
      )
      .option(
        '--encryption-provider-config <file>',
        'an EncryptionConfiguration: what is encrypted in the store',
      )
      .option(
        '--enable-admission-plugins <names>',
        'admission plugins to run beside those that run by default',
        list,
      )
      .option('--disable-admission-plugins <names>', 'admission plugins to leave out', list)
      .addHelpText(
        'after',
        `
Examples:
  $ cox certs init --cert-dir pki
  $ cox apiserver --store memory --cert-dir pki --bind-address 127.0.0.1
  $ cox apiserver --etcd-servers http://127.0.0.1:2379 --cert-dir pki`,
      ),
  );
  withOidcFlags(command).action(async (options) => (await import('./roles.ts')).apiServer(options));
}

function withLeaderElection(command: Command, name: string): Command {
  return command
    .option(
      '--leader-elect [bool]',
      'work only while holding the lease, so that several may run',
      yesOrNo,
      true,
    )
    .option(
      '--leader-elect-lease-duration <duration>',
      'how long others wait after the last renewal',
      duration,
      15_000,
    )
    .option(
      '--leader-elect-renew-deadline <duration>',
      'how long the leader tries to renew before it stops working',
      duration,
      10_000,
    )
    .option('--leader-elect-retry-period <duration>', 'time between two tries', duration, 2000)
    .option('--leader-elect-resource-name <name>', 'name of the lease', name)
    .option(
      '--leader-elect-resource-namespace <namespace>',
      'namespace of the lease',
      'kube-system',
    );
}

function withServing(command: Command, defaultPort: number): Command {
  return command
    .requiredOption(
      '--kubeconfig <file>',
      'identity of the component, and address of the API server',
    )
    .option(
      '--bind-address <address>',
      'address that serves health and metrics',
      ipAddress,
      '127.0.0.1',
    )
    .option('--secure-port <port>', 'port that serves health and metrics', port, defaultPort)
    .option(
      '--tls-cert-file <file>',
      'certificate of that port (default: one that is made at each start)',
    )
    .option('--tls-private-key-file <file>', 'key of that certificate');
}

function addControllerManager(program: Command): void {
  const command = withServing(
    program.command('controller-manager').description('run the controllers alone'),
    10_257,
  );
  withCommonFlags(withLeaderElection(command, 'kube-controller-manager'))
    .option(
      '--controllers <names>',
      "which controllers run: '*' all, 'foo' this one, '-foo' not this one",
      list,
      ['*'],
    )
    .option(
      '--use-service-account-credentials [bool]',
      'let each controller work as an account of its own',
      yesOrNo,
      true,
    )
    .option(
      '--cluster-cidr <cidrs>',
      'addresses of pods, of which each node gets a part (default: nodes get none)',
    )
    .option('--service-cluster-ip-range <cidrs>', 'addresses of services, which nodes do not get')
    .option('--load-balancer-pool <ranges>', POOL_HELP)
    .option(
      '--cert-dir <dir>',
      "directory of files that no flag names, as 'cox certs init' makes them",
    )
    .option(
      '--root-ca-file <file>',
      'authority to publish in every namespace (default: CERT-DIR/ca.crt)',
    )
    .option(
      '--cluster-signing-cert-file <file>',
      'authority that signs approved certificate requests (default: none are signed)',
    )
    .option('--cluster-signing-key-file <file>', 'key of that authority')
    .option(
      '--cluster-signing-duration <duration>',
      'longest validity of signed certificates (default: 8760h)',
      duration,
    )
    .option(
      '--service-account-private-key-file <file>',
      'key that signs tokens in Secrets (default: CERT-DIR/sa.key)',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ cox certs kubeconfig controller-manager --cert-dir pki --server https://127.0.0.1:6443
  $ cox controller-manager --kubeconfig controller-manager.conf --cert-dir pki --cluster-cidr 10.244.0.0/16`,
    )
    .action(async (options) => (await import('./roles.ts')).controllerManager(options));
}

function addScheduler(program: Command): void {
  const command = withServing(
    program.command('scheduler').description('run the scheduler alone'),
    10_259,
  );
  withCommonFlags(withLeaderElection(command, 'kube-scheduler'))
    .option('--config <file>', 'a KubeSchedulerConfiguration (v1) in YAML')
    .addHelpText(
      'after',
      `
Examples:
  $ cox certs kubeconfig scheduler --cert-dir pki --server https://127.0.0.1:6443
  $ cox scheduler --kubeconfig scheduler.conf`,
    )
    .action(async (options) => (await import('./roles.ts')).scheduler(options));
}

function addProxy(program: Command): void {
  withCommonFlags(
    program
      .command('proxy')
      .description('run the service proxy of this machine')
      .option(
        '--kubeconfig <file>',
        'identity of the proxy (system:kube-proxy), and address of the API server',
      )
      .option('--hostname-override <name>', "name of the node (default: the machine's)")
      .option(
        '--proxy-mode <mode>',
        'nftables, userspace, or auto: nftables where it can be had',
        'auto',
      )
      .option(
        '--cluster-cidr <cidrs>',
        'addresses of pods: traffic to cluster IPs from elsewhere is masqueraded',
      )
      .option(
        '--nodeport-addresses <ranges>',
        "addresses of the node that serve node ports (default: primary, the Node's own)",
        list,
      )
      .option(
        '--load-balancer-pool <ranges>',
        'addresses of load balancers that this machine may announce by ARP and NDP',
      )
      .option('--masquerade-all [bool]', 'masquerade all traffic to cluster IPs', yesOrNo, false)
      .option(
        '--healthz-bind-address <address>',
        'where /healthz and /livez are; empty: nowhere',
        '0.0.0.0:10256',
      )
      .option(
        '--metrics-bind-address <address>',
        'where /metrics and /proxyMode are; empty: nowhere',
        '127.0.0.1:10249',
      )
      .option(
        '--conntrack-max-per-core <count>',
        'connections that the kernel tracks, per processor core; 0: its limit is left alone',
        wholeNumber,
        32_768,
      )
      .option('--conntrack-min <count>', 'at least so many connections', wholeNumber, 131_072)
      .option(
        '--conntrack-tcp-be-liberal [bool]',
        'accept packets outside of the TCP window',
        yesOrNo,
        false,
      )
      .option(
        '--conntrack-tcp-timeout-close-wait <duration>',
        'how long connections in the state CLOSE_WAIT are kept (default: 1h); 0: left alone',
        duration,
      )
      .option(
        '--conntrack-tcp-timeout-established <duration>',
        'how long idle connections are kept (default: 24h); 0: left alone',
        duration,
      )
      .option(
        '--conntrack-udp-timeout <duration>',
        'how long UDP without replies is tracked (default: 0, left alone)',
        duration,
      )
      .option(
        '--conntrack-udp-timeout-stream <duration>',
        'how long UDP with replies is tracked (default: 0, left alone)',
        duration,
      )
      .option('--cleanup [bool]', 'remove the rules, and end', yesOrNo, false),
  )
    .addHelpText(
      'after',
      `
Examples:
  $ cox certs kubeconfig proxy --cert-dir pki --server https://127.0.0.1:6443
  $ cox proxy --kubeconfig proxy.conf --cluster-cidr 10.244.0.0/16`,
    )
    .action(async (options) => (await import('./roles.ts')).proxy(options));
}

function addKubelet(program: Command): void {
  const command = withNodeResourceFlags(
    program
      .command('kubelet')
      .description('run this machine as a node of a cluster')
      .option(
        '--kubeconfig <file>',
        'identity of the node (system:node:NAME), and address of the API server',
      )
      .option('--config <file>', 'a KubeletConfiguration (v1beta1) in YAML; flags have precedence')
      .option(
        '--config-dir <dir>',
        'files *.conf of the same kind, which replace fields of --config in the order of their names',
      )
      .option('--hostname-override <name>', "name of the node (default: the machine's)")
      .option('--data-dir <dir>', 'where the runtime keeps its state', '.coxswain-node')
      .option('--root-dir <dir>', 'volumes and pod data (default: DATA-DIR/kubelet)')
      .addOption(
        new Option(
          '--runtime <runtime>',
          'what runs the containers; auto: containerd where possible, else host processes',
        )
          .choices(['auto', 'containerd', 'process', 'simulated'])
          .default('auto'),
      )
      .option(
        '--container-runtime-endpoint <socket>',
        'CRI socket of a runtime that is already there',
      )
      .option(
        '--address <address>',
        "address that the kubelet's own server listens on (default: 0.0.0.0)",
        ipAddress,
      )
      .option('--port <port>', "port of the kubelet's own server (default: 10250)", port)
      .option(
        '--cert-dir <dir>',
        "directory of files that no flag names, as 'cox certs node' makes them",
      )
      .option('--tls-cert-file <file>', 'serving certificate (default: CERT-DIR/kubelet-NAME.crt)')
      .option(
        '--tls-private-key-file <file>',
        'key of the serving certificate (default: CERT-DIR/kubelet-NAME.key)',
      )
      .option(
        '--client-ca-file <file>',
        'authority of client certificates (default: CERT-DIR/ca.crt)',
      )
      .option(
        '--tls-min-version <version>',
        'lowest version of TLS: VersionTLS12 or VersionTLS13 (default: VersionTLS12)',
      )
      .option(
        '--tls-cipher-suites <names>',
        "cipher suites of TLS 1.2, by Go's names (default: AEAD with forward secrecy)",
        list,
      )
      .option(
        '--authentication-token-webhook [bool]',
        'check bearer tokens by TokenReview (default: true)',
        yesOrNo,
      )
      .option(
        '--authentication-token-webhook-cache-ttl <duration>',
        'how long a valid token counts as valid (default: 2m)',
        duration,
      )
      .addOption(
        new Option(
          '--authorization-mode <mode>',
          'AlwaysAllow: every authenticated user may do everything (default: Webhook)',
        ).choices(['Webhook', 'AlwaysAllow'] as const),
      )
      .option(
        '--authorization-webhook-cache-authorized-ttl <duration>',
        'how long a permission holds (default: 5m)',
        duration,
      )
      .option(
        '--authorization-webhook-cache-unauthorized-ttl <duration>',
        'how long a denial holds (default: 30s)',
        duration,
      )
      .option(
        '--pod-cidr <cidrs>',
        'addresses of its pods (default: those that the controller manager gives it)',
      )
      .option(
        '--cluster-cidr <cidrs>',
        'addresses of all pods: other nodes cannot claim any outside',
      )
      .addOption(podNetworkOption())
      .addOption(vxlanIdOption())
      .addOption(vxlanPortOption())
      .option(
        '--print-permissions',
        'print the role that nodes need for --pod-network, for an administrator to apply, and end',
      )
      .option('--node-ip <address>', "address of the node (default: the machine's)", ipAddress)
      .option('--node-labels <labels>', 'labels of the node: a=b,c=d', labels)
      .option('--max-pods <number>', 'number of pods that may run on it (default: 110)', count)
      .option('--pod-manifest-path <dir>', 'manifests of pods that run here without the API')
      .option('--cluster-dns <addresses>', "addresses of the cluster's DNS", list)
      .option('--cluster-domain <domain>', 'domain of the cluster (default: cluster.local)')
      .option(
        '--network-policy-kubeconfig <file>',
        'identity of what enforces network policies (system:coxswain:network-policy); ' +
          'without it they are not enforced here',
      )
      .option('--no-install', 'never install containerd, runc and the CNI plugins with apt-get')
      .addHelpText(
        'after',
        `
Examples:
  $ cox certs kubeconfig kubelet --node worker-1 --cert-dir pki --server https://127.0.0.1:6443 -f worker-1.conf
  $ cox certs node worker-1 --cert-dir pki --hosts 127.0.0.1
  $ cox kubelet --kubeconfig worker-1.conf --cert-dir pki --hostname-override worker-1 --runtime simulated
  $ cox kubelet --print-permissions | kubectl apply -f -`,
      ),
  );
  withCommonFlags(command).action(async (options) => (await import('./roles.ts')).kubelet(options));
}

function addRuntime(program: Command): void {
  withLogFlags(
    program
      .command('runtime')
      .description('serve a runtime of containers at a CRI socket, for crictl and other kubelets')
      .addOption(
        new Option('--type <type>', 'processes of this host, or records in memory')
          .choices(['process', 'simulated'] as const)
          .default('process' as const),
      )
      .requiredOption('--listen <endpoint>', 'the socket, as unix:///PATH')
      .option('--data-dir <dir>', "directory of the runtime's state", '.coxswain-runtime')
      .addHelpText(
        'after',
        `
Examples:
  $ cox runtime --type process --listen unix:///run/user/1000/cox.sock
  $ crictl --runtime-endpoint unix:///run/user/1000/cox.sock ps`,
      ),
  ).action(async (options) => (await import('./roles.ts')).runtime(options));
}

function addDns(program: Command): void {
  withLogFlags(
    program
      .command('dns')
      .description("run the cluster's DNS alone")
      .option(
        '--kubeconfig <file>',
        'identity of the server (system:coredns), and address of the API server',
      )
      .option(
        '--bind-address <addresses>',
        'addresses to listen on, separated by commas',
        addresses,
        ['127.0.0.1'],
      )
      .option('--port <port>', 'port to listen on by UDP and TCP; 0 picks a free one', port, 53)
      .option(
        '--metrics-port <port>',
        'port that serves metrics by HTTP on the same addresses (default: none)',
        port,
      )
      .option('--cluster-domain <domain>', 'domain of the cluster (default: cluster.local)')
      .option(
        '--allowed-clients <ranges>',
        'addresses whose queries are answered, others get nothing (default: private and loopback addresses)',
        list,
      )
      .option(
        '--cluster-ip <address>',
        'address of the Service kube-dns if there is none yet (default: any)',
        ipAddress,
      )
      .option(
        '--advertise-address <address>',
        'address in the EndpointSlice (default: the first bind address that is not loopback)',
        ipAddress,
      )
      .option('--hostname-override <name>', "name in the EndpointSlice (default: the machine's)")
      .option(
        '--print-permissions',
        'print the roles that the server needs, for an administrator to apply, and end',
      )
      .addHelpText(
        'after',
        `
Examples:
  $ cox dns --print-permissions | kubectl apply -f -
  $ cox certs kubeconfig dns --cert-dir pki --server https://127.0.0.1:6443
  $ cox dns --kubeconfig dns.conf --bind-address 10.0.0.7 --cluster-ip 10.96.0.10`,
      ),
  ).action(async (options) => (await import('./roles.ts')).dns(options));
}

function addIngress(program: Command): void {
  withLogFlags(
    program
      .command('ingress')
      .description('serve Ingresses and Gateways alone')
      .option(
        '--kubeconfig <file>',
        'identity of the controller (system:coxswain-ingress), and address of the API server',
      )
      .option(
        '--bind-address <addresses>',
        "addresses to listen on, separated by commas (default: the machine's and 127.0.0.1)",
        addresses,
      )
      .option('--http-port <port>', 'port of Ingresses without TLS', port, 80)
      .option('--https-port <port>', 'port of Ingresses with TLS', port, 443)
      .option(
        '--gateway-addresses <ranges>',
        'addresses of this machine of which each Gateway gets one',
        list,
      )
      .option(
        '--publish-addresses <addresses>',
        'addresses in statuses (default: those that it listens on)',
        addresses,
      )
      .option(
        '--trusted-proxies <ranges>',
        'proxies whose X-Forwarded headers are kept (default: none)',
        list,
      )
      .option(
        '--max-request-body <bytes>',
        "limit of a request's body (default: none)",
        wholeNumber,
      )
      .option('--access-log', 'log every request', false)
      .option('--no-update-status', 'write no statuses: another one does')
      .option(
        '--metrics-port <port>',
        'port of 127.0.0.1 that serves metrics by HTTP (default: none)',
        port,
      )
      .option(
        '--print-permissions',
        'print the roles that it needs, for an administrator to apply, and end',
      )
      .addHelpText(
        'after',
        `
Examples:
  $ cox ingress --print-permissions | kubectl apply -f -
  $ cox certs kubeconfig ingress --cert-dir pki --server https://127.0.0.1:6443
  $ cox ingress --kubeconfig ingress.conf`,
      ),
  ).action(async (options) => (await import('./roles.ts')).ingress(options));
}

function addCsiDriver(program: Command): void {
  withLogFlags(
    program
      .command('csi-driver')
      .description('run the reference CSI driver for the node of this machine')
      .option(
        '--kubeconfig <file>',
        'identity of its controllers (system:coxswain-csi), and address of the API server',
      )
      .option('--root-dir <dir>', "root directory of the node's kubelet", '/var/lib/kubelet')
      .option('--volumes-dir <dir>', 'directory of volumes and snapshots', '/var/lib/coxswain-csi')
      .option('--node-name <name>', "name of the node (default: the machine's)")
      .option(
        '--max-volumes <count>',
        'number of volumes that the node can have (default: any)',
        wholeNumber,
      )
      .option(
        '--print-permissions',
        'print the roles that it needs, for an administrator to apply, and end',
      )
      .addHelpText(
        'after',
        `
It creates the storage classes csi-directory and csi-image. Each node has a driver of its own.

Examples:
  $ cox csi-driver --print-permissions | kubectl apply -f -
  $ cox certs kubeconfig csi-driver --cert-dir pki --server https://127.0.0.1:6443
  $ cox csi-driver --kubeconfig csi-driver.conf`,
      ),
  ).action(async (options) => (await import('./roles.ts')).csiDriver(options));
}

function addCerts(program: Command): void {
  const certs = program
    .command('certs')
    .description('make certificates and kubeconfigs of roles that run apart')
    .addHelpText(
      'after',
      `
Examples:
  $ cox certs init --cert-dir pki --hosts api.example.org,10.0.0.5
  $ cox certs kubeconfig scheduler --cert-dir pki --server https://api.example.org:6443 -f scheduler.conf
  $ cox certs node worker-1 --cert-dir pki --hosts 10.0.0.7`,
    );
  certs
    .command('init')
    .description(
      'make the authority and the files of API servers; files that are there and still valid stay',
    )
    .option('--cert-dir <dir>', 'directory of the files', 'pki')
    .option('--hosts <hosts>', 'names and addresses by which the API servers are reached', list, [])
    .option('--service-cluster-ip-range <cidrs>', 'addresses of services', '10.96.0.0/16')
    .addOption(outputOption())
    .action(async (options) => (await import('./certs.ts')).init(options));
  certs
    .command('kubeconfig')
    .description('make a kubeconfig with a certificate of its own, for one role')
    .argument(
      '<role>',
      'admin, controller-manager, scheduler, proxy, kubelet, dns, ingress, csi-driver or ' +
        'network-policy',
    )
    .requiredOption('--server <url>', 'address of the API server, such as https://10.0.0.5:6443')
    .option('--cert-dir <dir>', 'directory of the authority', 'pki')
    .option('--node <name>', 'name of the node, for the role kubelet')
    .option('-f, --file <file>', 'the file to write (default: ROLE.conf)')
    .addOption(outputOption())
    .action(async (role, options) => (await import('./certs.ts')).kubeconfig(role, options));
  certs
    .command('node')
    .description("make the serving certificate of a node's kubelet")
    .argument('<name>', 'name of the node')
    .option('--cert-dir <dir>', 'directory of the authority', 'pki')
    .option('--hosts <hosts>', 'names and addresses by which the API servers reach it', list, [])
    .addOption(outputOption())
    .action(async (name, options) => (await import('./certs.ts')).node(name, options));
}
