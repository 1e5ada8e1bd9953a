// The commands of servers for clients in and outside of the cluster: `cox dns` and `cox ingress`.

import { type Command, Option } from 'commander';
import { addresses, ipAddress, list, port, wholeNumber } from '../flags.ts';
import { withLogFlags } from './common-flags.ts';

export function addDns(program: Command): void {
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
      .addOption(
        new Option(
          '--corefile <file>',
          'configuration in the form of CoreDNS, in place of the ConfigMap cluster-dns and of flags for addresses',
        ).conflicts([
          'bindAddress',
          'port',
          'metricsPort',
          'clusterDomain',
          'clusterIp',
          'advertiseAddress',
          'hostnameOverride',
        ]),
      )
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
  $ cox dns --kubeconfig dns.conf --bind-address 10.0.0.7 --cluster-ip 10.96.0.10
  $ cox dns --corefile /etc/coredns/Corefile      (in a pod, in place of CoreDNS)`,
      ),
  ).action(async (options) => (await import('../roles.ts')).dns(options));
}

export function addIngress(program: Command): void {
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
  ).action(async (options) => (await import('../roles.ts')).ingress(options));
}
