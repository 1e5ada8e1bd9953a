// `cox why OBJECT`: the causes of an object's state.

import type { Connection } from '#client/connect.ts';
import {
  explain,
  type Explanation,
  findResource,
  gather,
  refText,
  servedResources,
} from '#client/explain/index.ts';
import { schedulingVerdicts } from '#cluster/console/scheduling-verdicts.ts';
import { UserError } from '#cluster/user-error.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { printable } from '#machinery/text/printable.ts';
import { coloursFor } from '../terminal.ts';
import { type ConnectionFlags, withConnection } from './connection.ts';
import {
  briefProgress,
  causeLine,
  causeTree,
  type Colours,
  type OutputFlags,
  writeJson,
} from './output.ts';

export interface WhyFlags extends ConnectionFlags, OutputFlags {
  readonly namespace?: string;
  readonly schedulerConfig?: string;
}

/** `words`: ['pod/web-0'], or ['pod', 'web-0']. */
export async function why(words: readonly string[], flags: WhyFlags): Promise<void> {
  const { kind, name } = parseTarget(words);
  const explanation = await withConnection(flags, (connection) =>
    explanationOf(connection, kind, name, flags),
  );
  if (flags.output === 'json') writeJson(explanation);
  else process.stdout.write(explanationText(explanation, coloursFor(process.stdout)));
}

/** Throws UserError for anything but a kind and a name. */
export function parseTarget(words: readonly string[]): {
  readonly kind: string;
  readonly name: string;
} {
  const parts = words.length === 1 ? (words[0] ?? '').split('/') : words;
  const [kind = '', name = ''] = parts;
  if (parts.length !== 2 || kind === '' || name === '')
    throw new UserError('name one object, such as pod/web-0 or deployment/web');
  return { kind, name };
}

async function explanationOf(
  { client, namespace }: Connection,
  kind: string,
  name: string,
  flags: WhyFlags,
): Promise<Explanation> {
  const progress = briefProgress(flags);
  try {
    progress.show('reading the cluster');
    const resources = await servedResources(client);
    const type = findResource(resources, kind);
    if (type === undefined)
      throw new UserError(`the server has no resource type ${JSON.stringify(kind)}`);
    const target = { type, namespace: flags.namespace ?? namespace, name };
    const { object, objects, unscheduled } = await gather({ client, resources }, target).catch(
      (error: unknown) => {
        if (!apierrors.isNotFound(error)) throw error;
        const where = type.namespaced ? ` in the namespace ${target.namespace}` : '';
        throw new UserError(`there is no ${type.singular} ${JSON.stringify(name)}${where}`, {
          cause: error,
        });
      },
    );
    if (unscheduled.length > 0) progress.show('asking the scheduler');
    const scheduling = await schedulingVerdicts(client, unscheduled, {
      ...(flags.schedulerConfig !== undefined && { configFile: flags.schedulerConfig }),
    });
    return explain(object, { objects, now: systemClock.now(), scheduling });
  } finally {
    progress.clear();
  }
}

export function explanationText(explanation: Explanation, colours: Colours): string {
  const { object, tree, because, owners, unread } = explanation;
  const { bold } = colours;
  const where = object.namespace ? ` in the namespace ${object.namespace}` : '';
  const head = `${bold(printable(refText(object)))}${printable(where)}\n`;
  const answer =
    because.length === 0
      ? ''
      : `\n${bold('because')}\n${because.map((each) => `  ${causeLine(each, colours)}\n`).join('')}`;
  const chain =
    owners.length === 0
      ? ''
      : `\n${bold('belongs to')}\n${owners.map((each) => indented(causeTree(each, colours))).join('')}`;
  const missing = Object.entries(unread).map(
    ([kind, reason]) => `not read: ${printable(`${kind}: ${reason}`)}\n`,
  );
  const rest = missing.length === 0 ? '' : `\n${missing.join('')}`;
  return `${head}${answer}\n${bold('in full')}\n${indented(causeTree(tree, colours))}${chain}${rest}`;
}

const indented = (text: string): string => text.replace(/^(?=.)/gm, '  ');
