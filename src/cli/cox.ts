// The `cox` command: parses arguments, runs one subcommand, and turns errors that a user can act on
// into one line and exit status 1. main.ts runs it from the sources, tools/program/cox.ts runs it
// built.

import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import type { Build } from './build.ts';
import { COXSWAIN_VERSION, KUBERNETES_VERSION } from '#cluster/version.ts';
import { completionScript, SHELLS, type Shell } from './completion.ts';
import { address, addresses, consoleOption, list, POOL_HELP, port, settings } from './flags.ts';
import { thresholds } from './node-resource-flags.ts';
import { describeError } from './describe-error.ts';
import { addInspectCommands } from './inspect/commands.ts';
import { outputOption, writeJson } from './inspect/output.ts';
import { toMilliseconds } from '#machinery/text/duration.ts';
import { typed } from './own-command.ts';
import type { SimulateFlags } from './simulate.ts';
import { withAuditFlags } from './audit-flags.ts';
import { withOidcFlags } from './oidc-flags.ts';
import { withWorkerFlags } from './worker-flags.ts';
import { podNetworkOption, vxlanIdOption, vxlanPortOption } from './pod-network-flags.ts';
import { runtimeOption } from './role-commands/common-flags.ts';
import { addRoleCommands, UPSTREAM_FLAGS } from './role-commands.ts';
import { addRollingUpdateCommand } from './rolling-update-flags.ts';
import { readArguments } from './upstream/arguments.ts';

const nodeCount = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 100_000)
    throw new InvalidArgumentError('a number of nodes is from 1 to 100000.');
  return value;
};

const revisions = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 1e15)
    throw new InvalidArgumentError('a number of revisions is a whole number.');
  return value;
};

const seedCount = (text: string): number => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 1e9)
    throw new InvalidArgumentError('a whole number from 1 on is needed.');
  return value;
};

const duration = (text: string): string => {
  try {
    if (toMilliseconds(text) > 0) return text;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError("a duration such as '30m' or '8h' is needed.");
};

/** Runs what the process was asked for. Resolves when it is done; `cox up` ends the process itself. */
export async function runCox(build?: Build): Promise<void> {
  process.on('uncaughtException', endUnlessHandled);
  const status = await execute(process.argv.slice(2), build);
  // Not when everything has ended: after a failure there may be what never does.
  if (status !== 0) process.exit(status);
}

/** Runs a command line and returns its exit status. Errors go to stderr, as `describeError` writes them. */
export async function execute(args: readonly string[], build?: Build): Promise<number> {
  try {
    const program = createProgram(build);
    await program.parseAsync([...upstreamArguments(program, args)], { from: 'user' });
    return 0;
  } catch (error) {
    const { text, status } = describeError(error);
    process.stderr.write(text);
    return status;
  }
}

/** Node would print the line of the program that threw, and the built program has lines of 100 KB. */
function endUnlessHandled(err: unknown): void {
  if (process.listenerCount('uncaughtException') > 1) return;
  const { text, status } = describeError(err);
  process.stderr.write(text);
  process.exit(status);
}

/** The arguments of a command in place of an upstream component, in commander's form. Warnings go to stderr. */
function upstreamArguments(program: Command, args: readonly string[]): readonly string[] {
  const [name = '', ...rest] = args;
  const flags = UPSTREAM_FLAGS.get(name);
  const command = program.commands.find((each) => each.name() === name);
  if (flags === undefined || command === undefined) return args;
  const read = readArguments(rest, flags, command);
  for (const warning of read.warnings) process.stderr.write(`cox: warning: ${warning}\n`);
  return [name, ...read.args];
}

/** All commands with their flags. */
export function createProgram(build?: Build): Command {
  const program = new Command('cox')
    .description('All of Kubernetes in one process.')
    .version(COXSWAIN_VERSION)
    // A flag after the name of a subcommand is the subcommand's: --version, above all.
    .enablePositionalOptions()
    // Errors are thrown, to be written in one place. The subcommands inherit it.
    .exitOverride()
    .configureOutput({
      writeOut: (text) => process.stdout.write(typed(text)),
      outputError: () => undefined,
    });

  const up = program
    .command('up')
    .description(
      'start a cluster and keep it running until Ctrl-C (or in the background with --detach)',
    )
    .option(
      '--data-dir <dir>',
      'where the cluster keeps its data, certificates and logs',
      '.coxswain',
    )
    .option('--secure-port <port>', 'port of the API server; 0 picks a free one', port, 6443)
    .option('--bind <address>', 'address that the API server listens on', address, '127.0.0.1')
    .addOption(consoleOption())
    .option('--kubeconfig <path>', 'where to write the kubeconfig (default: DATA-DIR/kubeconfig)')
    .option(
      '--merge-kubeconfig',
      "also add the cluster to the user's own kubeconfig (KUBECONFIG or ~/.kube/config)",
    )
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
    .addOption(runtimeOption())
    .option(
      '--container-runtime-endpoint <socket>',
      'CRI socket of a runtime that is already there, such as unix:///run/containerd/containerd.sock',
    )
    .option(
      '--images <dir>',
      'import the images in this folder into containerd: archives (docker save, OCI) and OCI layouts',
    )
    .option('--nodes <count>', 'number of nodes; those after the first are simulated', nodeCount, 1)
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
    .option(
      '--csi-driver',
      'run the reference CSI driver on this machine (storage classes csi-directory and csi-image)',
    )
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
    .option('--scheduler-config <file>', 'a KubeSchedulerConfiguration (v1) in YAML')
    .option('--no-install', 'never install containerd, runc and the CNI plugins with apt-get')
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
  withWorkerFlags(withAuditFlags(withOidcFlags(up))).action(async (options) => {
    const { up: start } = await import('./up.ts');
    await start(options, build);
  });

  program
    .command('down')
    .description('stop a cluster that runs in the background; its data stays')
    .option('--data-dir <dir>', 'the data directory of the cluster', '.coxswain')
    .option(
      '--clean',
      'also end its pods, and remove rules, addresses, bridges and routes from this machine, ' +
        'those of killed clusters, too; if it does not run, only that',
    )
    .addOption(outputOption())
    .action(async (options) => {
      const { down } = await import('./down.ts');
      await down(options);
    });

  program
    .command('reset')
    .description(
      "remove a stopped cluster from this machine: its pods' processes, networks and mounts, and all of its data",
    )
    .option('--data-dir <dir>', 'the data directory of the cluster', '.coxswain')
    .option('--root-dir <dir>', 'the directory that was given to up or kubelet as --root-dir')
    .option('--stop', 'stop the cluster first if it runs')
    .option('-y, --yes', 'do not ask')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
It also cleans up after a crash, and can be repeated. Only directories that a cluster has made are \
touched; files of others in them
stay, and so does the entry that up --merge-kubeconfig has made. What a node ran with \
--container-runtime-endpoint stays in that runtime.

Examples:
  $ cox reset                                    asks, then removes the cluster in ./.coxswain
  $ cox reset --stop --yes --data-dir /tmp/demo  without a question, also if the cluster runs`,
    )
    .action(async (options) => {
      const { reset } = await import('./reset.ts');
      await reset(options);
    });

  addInspectCommands(program);

  const snapshot = program
    .command('snapshot')
    .description(
      'save, check and restore the state of a cluster with an embedded store, in one file',
    )
    .addHelpText(
      'after',
      `
A snapshot is the value of every object at one revision, with a checksum. It is taken while the \
cluster runs, or while it does
not. Certificates and keys are not in it: keep DATA-DIR/pki as well, and the file of \
--encryption-provider-config if there is one.

Examples:
  $ cox snapshot save backup.snap                of the cluster in ./.coxswain
  $ cox snapshot status backup.snap              whether it is whole, and what is in it
  $ cox down && cox snapshot restore backup.snap && cox up`,
    );

  snapshot
    .command('save <file>')
    .description('write a snapshot to FILE, which appears only once all of it is on the disk')
    .option('--data-dir <dir>', 'the data directory of the cluster', '.coxswain')
    .addOption(outputOption())
    .action(async (file, options) => (await import('./snapshot.ts')).save(file, options));

  snapshot
    .command('status <file>')
    .description('read all of FILE and print what is in it; exit status 1 if it is damaged')
    .addOption(outputOption())
    .action(async (file, options) => (await import('./snapshot.ts')).status(file, options));

  snapshot
    .command('restore <file>')
    .description(
      'make FILE the store of a stopped cluster; its present store is moved aside, not removed',
    )
    .option(
      '--data-dir <dir>',
      'the data directory of the cluster; created if it does not exist',
      '.coxswain',
    )
    .option(
      '--bump-revision <count>',
      'number of revisions to add, so that clients with newer ones notice',
      revisions,
      0,
    )
    .addOption(outputOption())
    .action(async (file, options) => (await import('./snapshot.ts')).restore(file, options));

  program
    .command('compile')
    .description(
      'compile the program ahead of time, for this version and these flags of Node, so that it starts faster',
    )
    .addHelpText(
      'after',
      `
What is compiled is kept beside the program, in a folder that must be writable: what Node needs for \
its version with these flags, and
without any, as tests that import the package run. npm run build does this, and cox up when it \
stops, if it was not done before.`,
    )
    .addOption(outputOption())
    .action(async (options) => (await import('./compile.ts')).compile(build, options));

  program
    .command('version')
    .description('print the versions of this program, of Kubernetes, and of Node')
    .addOption(outputOption())
    .action(({ output }: { readonly output?: 'json' }) => {
      const versions = {
        coxswain: COXSWAIN_VERSION,
        kubernetes: KUBERNETES_VERSION.gitVersion,
        node: process.version,
      };
      const { coxswain, kubernetes, node } = versions;
      if (output === 'json') return writeJson(versions);
      process.stdout.write(`coxswain ${coxswain}\nKubernetes ${kubernetes}\nNode ${node}\n`);
    });

  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .description('print a script that completes commands, flags and values in a shell')
    .addHelpText(
      'after',
      `
Examples:
  $ source <(cox completion bash)                in this shell; put the line into ~/.bashrc for all
  $ source <(cox completion zsh)                 the same for zsh and ~/.zshrc
  $ cox completion fish > ~/.config/fish/completions/cox.fish`,
    )
    .action((shell: Shell) => {
      process.stdout.write(completionScript(program, shell));
    });

  addSimulate(program);
  addEnvtest(program);
  addRoleCommands(program);
  return program;
}

function addSimulate(program: Command): void {
  program
    .command('simulate <scenario>')
    .description(
      'run a scenario with many seeds under faults, and check that the cluster stays right',
    )
    .option('--seeds <count>', 'number of seeds', seedCount, 10)
    .option('--seed <seed>', 'the first seed; a number is counted on', '1')
    .option(
      '--for <duration>',
      "begin seeds until this time is over, such as '8h', instead of --seeds",
      duration,
    )
    .option(
      '--processes <count>',
      'processes that run seeds (default: one for each core)',
      seedCount,
    )
    .option('--no-faults', 'inject no faults: only the scenario varies with the seed')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
SCENARIO is rolling-updates, jobs, node-failures, long-run, or a JavaScript or TypeScript module whose \
default export is a scenario (docs/faults.md
describes it). All of it runs on simulated nodes and on virtual time. A seed that fails is run \
again with fewer faults; the fewest
with which it fails are printed. The same seed gives the same run each time. Exit status 1: a seed has failed.

Examples:
  $ cox simulate rolling-updates                 ten seeds
  $ cox simulate node-failures --for 8h          all night
  $ cox simulate jobs --seed 17 --seeds 1        one seed again
  $ cox simulate ./my-scenario.ts --output json  a scenario of your own`,
    )
    .action(async (scenario: string, options: SimulateFlags) => {
      const { simulate } = await import('./simulate.ts');
      await simulate(scenario, options);
    });
}

function addEnvtest(program: Command): void {
  addRollingUpdateCommand(program);

  const envtest = program
    .command('envtest')
    .description(
      "lay out a folder for KUBEBUILDER_ASSETS, with this server in the place of upstream's " +
        'programs, and print its path',
    )
    .option('--dir <dir>', 'the folder (default: one in the cache of the user)')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Examples:
  $ KUBEBUILDER_ASSETS=$(cox envtest) go test ./...                          with garbage collection
  $ COX_ENVTEST_NODES=2 KUBEBUILDER_ASSETS=$(cox envtest) go test ./...      with all controllers, \
and nodes on which pods run
  $ COX_ENVTEST_CONTROLLERS= KUBEBUILDER_ASSETS=$(cox envtest) go test ./... the API server alone, as upstream's`,
    )
    .action(async (options: { readonly dir?: string; readonly output?: 'json' }) => {
      const { envtest: layOut } = await import('./envtest/envtest.ts');
      layOut(options);
    });
  envtest
    .command('etcd', { hidden: true })
    .description('stand in for etcd: answer health checks')
    .requiredOption('--listen-client-urls <urls>', 'where to listen', list)
    // Suites pass etcd's flags about storage and peers: there are neither.
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (options: { readonly listenClientUrls: readonly string[] }) => {
      const { envtestEtcd } = await import('./envtest/envtest.ts');
      await envtestEtcd(options);
    });
}
