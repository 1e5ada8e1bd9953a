// The command `cox certs`.

import type { Command } from 'commander';
import { list } from '../flags.ts';
import { outputOption } from '../inspect/output.ts';

export function addCerts(program: Command): void {
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
    .action(async (options) => (await import('../certs.ts')).init(options));
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
    .action(async (role, options) => (await import('../certs.ts')).kubeconfig(role, options));
  certs
    .command('node')
    .description("make the serving certificate of a node's kubelet")
    .argument('<name>', 'name of the node')
    .option('--cert-dir <dir>', 'directory of the authority', 'pki')
    .option('--hosts <hosts>', 'names and addresses by which the API servers reach it', list, [])
    .addOption(outputOption())
    .action(async (name, options) => (await import('../certs.ts')).node(name, options));
}
