// The commands that look at a cluster and at the machine: their flags and help.

import { Argument, type Command, Option } from 'commander';
import { dataDirOption, duration, repeated, wholeNumber } from '../flags.ts';
import { withConnectionFlags } from './connection.ts';
import { COMPONENTS } from './log-lines.ts';
import { outputOption } from './output.ts';

export function addInspectCommands(program: Command): void {
  addStatus(program);
  addWhy(program);
  addTop(program);
  addLogs(program);
  addKubeconfig(program);
  addDoctor(program);
  addImage(program);
  addConsole(program);
}

function addStatus(program: Command): void {
  const command = program
    .command('status')
    .description('show what is wrong in a cluster, and what runs')
    .option('--exit-code', 'exit with status 1 if something is wrong')
    .addOption(outputOption());
  // Here the directory has precedence over KUBECONFIG, as in the other commands about this machine.
  withConnectionFlags(
    command,
    'the cluster of this data directory (default: .coxswain, if it is one)',
  )
    .addHelpText(
      'after',
      `
First what is wrong: nodes that are not ready, pods that do not start, webhooks and API services that do not
answer, certificates near their end, a full disk. Then the process, the store, components, nodes, and pods by phase.

Examples:
  $ cox status                                   of the cluster in ./.coxswain, or else of your kubeconfig
  $ cox status --exit-code --output json         for scripts: status 1 if something is wrong
  $ cox status --kubeconfig ~/.kube/config       of any cluster`,
    )
    .action(async (options) => (await import('./status.ts')).status(options));
}

function addWhy(program: Command): void {
  const command = program
    .command('why <object...>')
    .description('explain why an object is in its state: pod/web-0, deployment/web, pvc/data …')
    .option('-n, --namespace <namespace>', 'the namespace of the object (default: of the context)')
    .option(
      '--scheduler-config <file>',
      'the KubeSchedulerConfiguration of the cluster, if it has one of its own',
    )
    .addOption(outputOption());
  withConnectionFlags(command)
    .addHelpText(
      'after',
      `
The causes first, then the whole chain: conditions, owned objects, events, volumes, configuration, nodes, rules.
For a pod without a node the scheduler's decision is repeated, with the verdict of each of its plugins; nothing is
changed. Every kind works, custom ones by their conditions, events and owned objects.

Examples:
  $ cox why pod/web-0
  $ cox why deployment/web -n shop
  $ cox why pvc data --output json`,
    )
    .action(async (words, options) => (await import('./why.ts')).why(words, options));
}

function addLogs(program: Command): void {
  // For the help and completion. Names of upstream's programs are accepted, too.
  const component = new Argument('[component]', 'only lines of this component');
  component.argChoices = [...COMPONENTS];
  program
    .command('logs')
    .addArgument(component)
    .description('print the log of a cluster that was started with --detach')
    .addOption(dataDirOption())
    .option('-f, --follow', 'go on until the cluster ends or Ctrl-C')
    .option('--since <duration>', 'only lines of the last 10s, 5m, 1h …', duration)
    .option('--tail <lines>', 'only the last lines of those that are there', wholeNumber)
    .addOption(outputOption('form of the output; json: an object in each line'))
    .addHelpText(
      'after',
      `
Warnings and errors, unless the cluster was started with --verbose.
Logs of pods: kubectl logs.

Examples:
  $ cox logs --tail 20
  $ cox logs kubelet --since 10m
  $ cox logs scheduler --follow`,
    )
    .action(async (name, options) => (await import('./logs.ts')).logs(name, options));
}

function addKubeconfig(program: Command): void {
  program
    .command('kubeconfig')
    .description("print a cluster's kubeconfig, or add it to your own")
    .addOption(dataDirOption())
    .option('--merge', 'add it to your own kubeconfig (KUBECONFIG or ~/.kube/config)')
    .option('--name <name>', 'with --merge: name of the context there (default: coxswain)')
    .option('--user <name>', 'print one for this user instead, with a new certificate')
    .option('--group <name>', 'with --user: a group that the user belongs to', repeated)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
A new user may do nothing before RBAC rules allow it.

Examples:
  $ cox kubeconfig --merge --name demo && kubectl --context demo get nodes
  $ cox kubeconfig --user jane --group developers > jane.conf
  $ kubectl create rolebinding jane --clusterrole view --user jane`,
    )
    .action(async (options) => (await import('./kubeconfig.ts')).kubeconfig(options));
}

function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('show what this machine lacks for which feature, and how to get it')
    .addOption(dataDirOption('the data directory that is going to be used'))
    .option('--exit-code', 'exit with status 1 if a feature is not possible')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Nothing is changed. Commands are those of Debian, Fedora or Alpine, whichever this is; of all three on another system.

Examples:
  $ cox doctor
  $ cox doctor --output json`,
    )
    .action(async (options) => (await import('./doctor.ts')).doctor(options));
}

function addImage(program: Command): void {
  const image = program
    .command('image')
    .description("the images of a cluster's containerd")
    .addHelpText(
      'after',
      `
Only for clusters whose containers containerd runs: simulated pods take any image, and those of --runtime process
run programs of this machine.

Examples:
  $ docker save web:dev -o web.tar && cox image load web.tar
  $ cox image load ./oci-layout --base-name docker.io/library/web
  $ cox image list
  $ cox image prune --dry-run`,
    );
  const withFlags = (command: Command): Command =>
    command
      .addOption(dataDirOption())
      .option(
        '--container-runtime-endpoint <socket>',
        "containerd's socket, if it is not the cluster's own",
      )
      .addOption(outputOption());
  withFlags(
    image
      .command('load <source...>')
      .description(
        'import archives (docker save, or an OCI layout in a tar) and folders with an OCI layout',
      )
      .option('--base-name <name>', 'repository of images whose name is only a tag'),
  ).action(async (sources, options) => (await import('./image.ts')).load(sources, options));
  withFlags(image.command('list').description('list the images')).action(async (options) =>
    (await import('./image.ts')).list(options),
  );
  withFlags(
    image
      .command('prune')
      .description('remove the images that no container uses')
      .option('--dry-run', 'only show which'),
  ).action(async (options) => (await import('./image.ts')).prune(options));
}

function addConsole(program: Command): void {
  const command = program
    .command('console')
    .description("open the cluster's web console, signed in as the user of the kubeconfig")
    .option('--no-open', 'only print the link')
    .addOption(outputOption());
  withConnectionFlags(command)
    .addHelpText(
      'after',
      `
The link can be used once, within a minute. The session has the rights of the kubeconfig's user, and ends with its
certificate or token, after two hours without use, or after twelve hours. Browsers warn of the cluster's own
certificate authority unless it is imported (DATA-DIR/pki/ca.crt).

Examples:
  $ cox console
  $ cox console --no-open --kubeconfig jane.conf`,
    )
    .action(async (options) => (await import('./console.ts')).console(options));
}

function addTop(program: Command): void {
  const command = program
    .command('top')
    .addArgument(
      new Argument('[what]', 'nodes or pods').choices(['nodes', 'pods']).default('nodes'),
    )
    .description('show what nodes or pods use of CPU and memory')
    .option('-n, --namespace <namespace>', 'namespace of the pods (default: of the context)')
    .option('-A, --all-namespaces', 'pods of all namespaces')
    .addOption(
      new Option('--sort-by <column>', 'the order')
        .choices(['name', 'cpu', 'memory'])
        .default('name'),
    )
    .addOption(outputOption());
  withConnectionFlags(command)
    .addHelpText(
      'after',
      `
From metrics.k8s.io if the server has it (metrics-server serves it), otherwise from the kubelets' /stats/summary.

Examples:
  $ cox top
  $ cox top pods -A --sort-by memory
  $ cox top nodes --output json`,
    )
    .action(async (what, options) => (await import('./top.ts')).top(what, options));
}
