// The commands of the roles beside a kubelet: `cox proxy`, `cox runtime`, `cox csi-driver`.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { duration, list, wholeNumber, yesOrNo } from '../flags.ts';
import { withCommonFlags, withLogFlags } from './common-flags.ts';

export function addProxy(program: Command): void {
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
    .action(async (options) => (await import('../roles.ts')).proxy(options));
}

/** Adds HOST=URL to the mirrors. Throws InvalidArgumentError. */
function collectMirror(
  text: string,
  mirrors: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const at = text.indexOf('=');
  const [host, url] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || !/^https?:\/\/[^/]/.test(url))
    throw new InvalidArgumentError('must be HOST=URL, such as docker.io=https://mirror.example');
  return new Map([...mirrors, [host, url.replace(/\/+$/, '')]]);
}

export function addRuntime(program: Command): void {
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
      .addOption(
        new Option(
          '--isolation <kind>',
          'of processes: none runs programs of this host, namespaces runs pulled images (needs root)',
        )
          .choices(['none', 'namespaces'] as const)
          .default('none' as const),
      )
      .option('--pod-cidr <cidr>', 'with namespaces: the addresses of pods (IPv4)', '10.86.0.0/16')
      .option(
        '--registry-mirror <host=url>',
        'with namespaces: the URL that serves the images of a registry; repeatable',
        collectMirror,
        new Map<string, string>(),
      )
      .addHelpText(
        'after',
        `
Examples:
  $ cox runtime --type process --listen unix:///run/user/1000/cox.sock
  $ sudo cox runtime --isolation namespaces --listen unix:///run/cox.sock
  $ crictl --runtime-endpoint unix:///run/user/1000/cox.sock ps`,
      ),
  ).action(async (options) => (await import('../roles.ts')).runtime(options));
}

export function addCsiDriver(program: Command): void {
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
  ).action(async (options) => (await import('../roles.ts')).csiDriver(options));
}
