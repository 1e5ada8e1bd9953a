// The `cox` command: parses arguments, runs one subcommand, and turns errors that a user can act on into one line and exit status 1.
// main.ts runs it from the sources, tools/program/cox.ts runs it built.

import { Command, InvalidArgumentError, Option } from 'commander';
import type { Build } from './build.ts';
import { UserError } from '../cluster/user-error.ts';
import { COXSWAIN_VERSION } from '../cluster/version.ts';
import { list, port, settings } from './flags.ts';
import { addRoleCommands } from './role-commands.ts';

const nodeCount = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 10_000) throw new InvalidArgumentError('a number of nodes is from 1 to 10000.');
  return value;
};

const revisions = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 1e15) throw new InvalidArgumentError('a number of revisions is a whole number.');
  return value;
};

/**
 * Node cuts small buffers from slabs of 8 KB: two or three answers of an API server. What is kept for long has memory of its own, so larger
 * slabs are no waste, and spare a server of many small answers 2 % of its time.
 */
const BUFFER_POOL_BYTES = 32 * 1024;

/** Runs what the process was asked for. Resolves when it is done; `cox up` ends the process itself. */
export async function runCox(build?: Build): Promise<void> {
  Buffer.poolSize = BUFFER_POOL_BYTES;
  try {
    await command(build).parseAsync();
  } catch (err) {
    if (!(err instanceof UserError)) throw err;
    process.stderr.write(`cox: ${err.message}\n`);
    // Not when everything has ended: after a failure there may be what never does.
    process.exit(err.exitCode);
  }
}

function command(build: Build | undefined): Command {
  const program = new Command('cox')
    .description('All of Kubernetes in one process.')
    .version(COXSWAIN_VERSION)
    .showHelpAfterError('(cox --help shows what there is)');

  program
    .command('up')
    .description('start a cluster and keep it running until Ctrl-C (or in the background with --detach)')
    .option('--data-dir <dir>', 'where the cluster keeps its data, certificates and logs', '.coxswain')
    .option('--secure-port <port>', 'port of the API server; 0 picks a free one', port, 6443)
    .option('--bind <address>', 'address that the API server listens on', '127.0.0.1')
    .option('--kubeconfig <path>', 'where to write the kubeconfig (default: DATA-DIR/kubeconfig)')
    .option('--merge-kubeconfig', "also add the cluster to the user's own kubeconfig (KUBECONFIG or ~/.kube/config)")
    .addOption(
      new Option('--store <engine>', 'durable on disk, gone with the process, or on an etcd cluster (3.4 or later)')
        .choices(['embedded', 'memory', 'etcd'])
        .default('embedded'),
    )
    .option('--etcd-servers <urls>', 'members of the etcd cluster, with commas between them', (text: string) => text.split(','))
    .option('--etcd-cafile <file>', "certificate authority of etcd's certificates (PEM)")
    .option('--etcd-certfile <file>', 'certificate to show to etcd (PEM)')
    .option('--etcd-keyfile <file>', "that certificate's key (PEM)")
    .option('--etcd-prefix <prefix>', 'what the keys in etcd begin with (default: /registry)')
    .option(
      '--encryption-provider-config <file>',
      'an EncryptionConfiguration: what is encrypted in the store, and with which keys',
    )
    .addOption(
      new Option('--runtime <runtime>', 'what runs the containers; auto: containerd where it can be had, else host processes')
        .choices(['auto', 'containerd', 'process', 'simulated'])
        .default('auto'),
    )
    .option(
      '--container-runtime-endpoint <socket>',
      'CRI socket of a runtime that is already there, such as unix:///run/containerd/containerd.sock',
    )
    .option('--nodes <count>', 'number of nodes; those after the first are simulated', nodeCount, 1)
    .option('--pod-cidr <cidr>', 'addresses of pods (default: 10.244.0.0/16, wider for more than 256 nodes)')
    .option(
      '--service-cidr <cidrs>',
      'cluster addresses of services: one range, or one of each family with a comma between them',
      '10.96.0.0/16',
    )
    .option(
      '--runtime-config <settings>',
      "what is served: 'api/all=true', 'group/version=false', 'group/version/resource=true' … (default: stable versions)",
      settings,
    )
    .option('--controllers <names>', "which controllers run: '*' all, 'foo' this one, '-foo' not this one (default: all)", list)
    .option('--root-dir <dir>', "the kubelet's directory: volumes and pod data (default: DATA-DIR/kubelet)")
    .option('--scheduler-config <file>', 'a KubeSchedulerConfiguration (v1) in YAML')
    .option('--no-install', 'never install containerd, runc and the CNI plugins with apt-get')
    .option('--detach', 'leave the cluster running in the background once it is ready')
    .option('--quiet', 'print nothing but the line that says it is ready')
    .addOption(new Option('--log-format <format>', 'form of the log').choices(['text', 'json']).default('text'))
    .option('-v, --verbose', 'log what the components do', false)
    .addHelpText(
      'after',
      `
Examples:
  $ cox up                                       a cluster on https://127.0.0.1:6443, data in ./.coxswain
  $ cox up --runtime simulated --nodes 20        twenty nodes whose pods only pretend; no root needed
  $ cox up --detach && export KUBECONFIG=$PWD/.coxswain/kubeconfig && kubectl get nodes
  $ cox down                                     stops a cluster started with --detach`,
    )
    .action(async (options) => {
      const { up } = await import('./up.ts');
      await up(options, build);
    });

  program
    .command('down')
    .description('stop a cluster that runs in the background; its data stays')
    .option('--data-dir <dir>', 'the data directory of the cluster', '.coxswain')
    .action(async (options) => {
      const { down } = await import('./down.ts');
      await down(options);
    });

  program
    .command('reset')
    .description("remove a stopped cluster from this machine: its pods' processes, networks and mounts, and all of its data")
    .option('--data-dir <dir>', 'the data directory of the cluster', '.coxswain')
    .option('--root-dir <dir>', 'the directory that was given to up or kubelet as --root-dir')
    .option('--stop', 'stop the cluster first if it runs')
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      `
It also cleans up after a crash, and can be repeated. Only directories that a cluster has made are touched; files of others in them
stay, and so does the entry that up --merge-kubeconfig has made. What a node ran with --container-runtime-endpoint stays in that runtime.

Examples:
  $ cox reset                                    asks, then removes the cluster in ./.coxswain
  $ cox reset --stop --yes --data-dir /tmp/demo  without a question, also if the cluster runs`,
    )
    .action(async (options) => {
      const { reset } = await import('./reset.ts');
      await reset(options);
    });

  const snapshot = program
    .command('snapshot')
    .description('the state of a cluster with an embedded store in one file: save it, look at it, put it back')
    .addHelpText(
      'after',
      `
A snapshot is the value of every object at one revision, with a checksum. It is taken while the cluster runs, or while it does
not. Certificates and keys are not in it: keep DATA-DIR/pki as well, and the file of --encryption-provider-config if there is one.

Examples:
  $ cox snapshot save backup.snap                of the cluster in ./.coxswain
  $ cox snapshot status backup.snap              whether it is whole, and what is in it
  $ cox down && cox snapshot restore backup.snap && cox up`,
    );

  snapshot
    .command('save <file>')
    .description('write a snapshot to FILE, which is there only once all of it is on the disk')
    .option('--data-dir <dir>', 'the data directory of the cluster', '.coxswain')
    .action(async (file, options) => (await import('./snapshot.ts')).save(file, options));

  snapshot
    .command('status <file>')
    .description('read all of FILE, and say what is in it; status 1 if it is damaged')
    .addOption(new Option('-o, --output <format>', 'form of the answer').choices(['json']))
    .action(async (file, options) => (await import('./snapshot.ts')).status(file, options));

  snapshot
    .command('restore <file>')
    .description('make FILE the store of a cluster that does not run; the store that it has is moved aside, not removed')
    .option('--data-dir <dir>', 'the data directory of the cluster; made if it does not exist', '.coxswain')
    .option(
      '--bump-revision <count>',
      'begin so many revisions after the snapshot, for clients that go on with what they know',
      revisions,
      0,
    )
    .action(async (file, options) => (await import('./snapshot.ts')).restore(file, options));

  program
    .command('compile')
    .description(
      'compile the program ahead of time, for this Node and the flags that it runs with: it starts sooner from then on',
    )
    .addHelpText(
      'after',
      `
What is compiled is kept beside the program, in a folder that must be writable: what Node needs for its version with these flags, and
without any, as tests that import the package run. npm run build does this, and cox up when it stops, if it was not done before.`,
    )
    .action(async () => (await import('./compile.ts')).compile(build));

  addRoleCommands(program);
  return program;
}
