// The command `cox kubelet`.

import { type Command, Option } from 'commander';
import { count, duration, ipAddress, labels, list, port, yesOrNo } from '../flags.ts';
import { withNodeResourceFlags } from '../node-resource-flags.ts';
import { podNetworkOption, vxlanIdOption, vxlanPortOption } from '../pod-network-flags.ts';
import { runtimeOption, withCommonFlags } from './common-flags.ts';

export function addKubelet(program: Command): void {
  const command = withNodeResourceFlags(
    program
      .command('kubelet')
      .description('run this machine as a node of a cluster')
      .option(
        '--kubeconfig <file>',
        'identity of the node (system:node:NAME), and address of the API server',
      )
      .option(
        '--bootstrap-kubeconfig <file>',
        'identity to request a certificate with, if --kubeconfig is missing or has no valid one: ' +
          'it is written then',
      )
      .option(
        '--rotate-certificates [bool]',
        "request the node's client certificate from the cluster, and another before it expires",
        yesOrNo,
      )
      .option(
        '--rotate-server-certificates [bool]',
        'request the serving certificate, too; an administrator approves it (default: false)',
        yesOrNo,
      )
      .option('--config <file>', 'a KubeletConfiguration (v1beta1) in YAML; flags have precedence')
      .option(
        '--config-dir <dir>',
        'files *.conf of the same kind, which replace fields of --config in the order of their names',
      )
      .option('--hostname-override <name>', "name of the node (default: the machine's)")
      .option('--data-dir <dir>', 'where the runtime keeps its state', '.coxswain-node')
      .option('--root-dir <dir>', 'volumes and pod data (default: DATA-DIR/kubelet)')
      .addOption(runtimeOption())
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
        '--healthz-bind-address <address>',
        'address of /healthz without TLS (default: 127.0.0.1)',
        ipAddress,
      )
      .option('--healthz-port <port>', 'its port; 0: nowhere (default: 10248)', port)
      .option(
        '--cert-dir <dir>',
        "directory of files that no flag names, as 'cox certs node' makes them, and of issued " +
          'certificates (default for these: ROOT-DIR/pki)',
      )
      .option(
        '--tls-cert-file <file>',
        'serving certificate (default: CERT-DIR/kubelet-NAME.crt if it exists, otherwise a ' +
          'self-signed one in CERT-DIR/kubelet.crt)',
      )
      .option(
        '--tls-private-key-file <file>',
        'key of the serving certificate (default: beside it, with the end .key)',
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
      .option(
        '--volume-plugin-dir <dir>',
        'drivers of FlexVolumes (default: /usr/libexec/kubernetes/kubelet-plugins/volume/exec)',
      )
      .option(
        '--make-iptables-util-chains [bool]',
        'make KUBE-IPTABLES-HINT, by which pods know which iptables this machine uses (default: true)',
        yesOrNo,
      )
      .addOption(podNetworkOption())
      .addOption(vxlanIdOption())
      .addOption(vxlanPortOption())
      .option(
        '--print-permissions',
        'print the role that nodes need for --pod-network, for an administrator to apply, and end',
      )
      .option('--node-ip <address>', "address of the node (default: the machine's)", ipAddress)
      .addOption(
        new Option(
          '--cloud-provider <kind>',
          'external: a cloud controller manager completes the node, and gives it its addresses',
        ).choices(['', 'external'] as const),
      )
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
  withCommonFlags(command).action(async (options) =>
    (await import('../roles.ts')).kubelet(options),
  );
}
