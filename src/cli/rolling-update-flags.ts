// The flags of `cox rolling-update`: those of kubectl up to version 1.17, and --recreate.

import { type Command, Option } from 'commander';
import { duration } from './flags.ts';
import { outputOption } from './inspect/output.ts';

const MINUTE_MS = 60_000;

export function addRollingUpdateCommand(program: Command): void {
  program
    .command('rolling-update')
    .description(
      'replace the pods of a ReplicationController one by one, and wait until that is done',
    )
    .argument('<old>', 'the controller whose pods are replaced')
    .argument('[new]', 'the name of the new controller, with --image or --rollback')
    .option('-f, --filename <file>', "the new controller in YAML or JSON; '-' reads standard input")
    .option('--image <image>', 'the new image: the new controller is a copy of the old one')
    .option('--container <name>', 'the container that gets the image, if a pod has several')
    .option(
      '--image-pull-policy <policy>',
      'needed if --image is the image that the container has already',
    )
    .option(
      '--deployment-label-key <key>',
      'with --image: the label that tells the pods of both controllers apart',
      'deployment',
    )
    .addOption(durationOption('--update-period', 'time between two steps', MINUTE_MS, '1m'))
    .addOption(
      durationOption('--poll-interval', 'time between two looks at a controller', 3000, '3s'),
    )
    .addOption(
      durationOption(
        '--timeout',
        'how long there may be no progress before the command fails',
        5 * MINUTE_MS,
        '5m',
      ),
    )
    .option('--rollback', 'go back from NEW to OLD, and delete NEW')
    .option(
      '--recreate',
      "delete OLD's pods one by one, --update-period apart, and wait until all replicas are back; " +
        'with --image, change the image first',
    )
    .addOption(outputOption('form of the result; progress goes to stderr then'))
    .option('-n, --namespace <name>', "default: the context's")
    .option('--kubeconfig <file>', 'default: KUBECONFIG, or ~/.kube/config')
    .option('--context <name>', 'default: the current context of the kubeconfig')
    .addHelpText(
      'after',
      `
An update that was interrupted goes on when the command is given again.

Examples:
  $ cox rolling-update web-v1 -f web-v2.yaml              another controller
  $ cox rolling-update web-v1 web-v2 --image=nginx:1.29   a copy with another image
  $ cox rolling-update web --image=nginx:1.29             the same, keeping the name
  $ cox rolling-update web-v1 web-v2 --rollback           back again
  $ cox rolling-update web --recreate                     new pods, of the same controller`,
    )
    .action(async (old: string, next: string | undefined, options) => {
      const { rollingUpdateCommand } = await import('./rolling-update.ts');
      await rollingUpdateCommand(old, next, options);
    });
}

function durationOption(name: string, description: string, ms: number, shown: string): Option {
  return new Option(`${name} <duration>`, description).argParser(duration).default(ms, shown);
}
