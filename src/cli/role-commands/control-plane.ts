// The commands `cox controller-manager` and `cox scheduler`.

import type { Command } from 'commander';
import { duration, list, POOL_HELP, wholeNumber, yesOrNo } from '../flags.ts';
import { withCommonFlags, withLeaderElection, withServing } from './common-flags.ts';

export function addControllerManager(program: Command): void {
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
    .option(
      '--pv-recycler-pod-template-filepath-nfs <file>',
      'pod that recycles NFS volumes, in YAML (default: one that deletes all files)',
    )
    .option(
      '--pv-recycler-minimum-timeout-nfs <seconds>',
      'least time of that pod (default: 300)',
      wholeNumber,
    )
    .option(
      '--pv-recycler-increment-timeout-nfs <seconds>',
      'its time per GiB of the volume, if that is more (default: 30)',
      wholeNumber,
    )
    .option(
      '--pv-recycler-pod-template-filepath-hostpath <file>',
      'pod that recycles hostPath volumes, which works on clusters of one node only',
    )
    .option(
      '--pv-recycler-minimum-timeout-hostpath <seconds>',
      'least time of that pod (default: 60)',
      wholeNumber,
    )
    .option(
      '--pv-recycler-timeout-increment-hostpath <seconds>',
      'its time per GiB of the volume, if that is more (default: 30)',
      wholeNumber,
    )
    .addHelpText(
      'after',
      `
Examples:
  $ cox certs kubeconfig controller-manager --cert-dir pki --server https://127.0.0.1:6443
  $ cox controller-manager --kubeconfig controller-manager.conf --cert-dir pki --cluster-cidr 10.244.0.0/16`,
    )
    .action(async (options) => (await import('../roles.ts')).controllerManager(options));
}

export function addScheduler(program: Command): void {
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
    .action(async (options) => (await import('../roles.ts')).scheduler(options));
}
