// Redirections: `<`, `>`, `>>`, `2>&1`, here documents.

import type { Redirect } from './ast.ts';
import { type ExpansionContext, expandText } from './expand.ts';
import { FileError, resolvePath } from './file-system.ts';
import { discard, Input, type Output, type Streams } from './io.ts';
import { CommandError } from './process.ts';

/** Returns the streams after the redirections; undefined if one failed, which was reported. */
export async function redirect(
  redirects: readonly Redirect[],
  before: Streams,
  context: ExpansionContext,
  fail: (message: string, code: number) => Promise<number>,
): Promise<Streams | undefined> {
  const streams: [Input, Output, Output] = [before.stdin, before.stdout, before.stderr];
  for (const { fd, operator, target } of redirects) {
    const text = await expandText(target, context);
    if (operator === '<<') {
      streams[0] = Input.of(Buffer.from(text));
      continue;
    }
    if (operator === '<<<') {
      streams[0] = Input.of(Buffer.from(`${text}\n`));
      continue;
    }
    if (operator === '>&' || operator === '<&') {
      if (text === '-') {
        if (fd === 0) streams[0] = Input.empty();
        else if (fd === 1 || fd === 2) streams[fd] = discard;
        continue;
      }
      const from = Number(text);
      if (fd === 0 && from === 0) continue;
      if ((fd !== 1 && fd !== 2) || (from !== 1 && from !== 2)) {
        await fail(`${text}: Bad file descriptor`, 1);
        return undefined;
      }
      streams[fd] = streams[from];
      continue;
    }
    try {
      if (operator === '<') {
        if (fd !== 0) throw new FileError('Bad file descriptor');
        streams[0] = openInput(context, text, streams[0]);
      } else {
        const output = openOutput(context, text, operator === '>>', streams);
        if (operator === '&>') streams[1] = streams[2] = output;
        else if (fd === 1 || fd === 2) streams[fd] = output;
        else throw new FileError('Bad file descriptor');
      }
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      const verb = operator === '<' ? "can't open" : "can't create";
      await fail(`${verb} ${text}: ${error.message}`, 1);
      return undefined;
    }
  }
  return { stdin: streams[0], stdout: streams[1], stderr: streams[2] };
}

function openInput({ files, directory }: ExpansionContext, path: string, stdin: Input): Input {
  const full = resolvePath(directory, path);
  const node = files.find(full);
  return node?.kind === 'device' && node.device === 'stdin' ? stdin : Input.of(files.read(full));
}

function openOutput(
  { files, directory }: ExpansionContext,
  path: string,
  append: boolean,
  [, stdout, stderr]: readonly [Input, Output, Output],
): Output {
  const full = resolvePath(directory, path);
  const node = files.find(full);
  if (node?.kind === 'device') {
    if (node.device === 'stdout') return stdout;
    return node.device === 'stderr' ? stderr : discard;
  }
  // The output of the container's first process, as daemons open it for logging.
  if (!append || node === undefined) files.write(full, Buffer.alloc(0), append);
  return {
    write: async (bytes) => {
      try {
        files.write(full, bytes, true);
      } catch (error) {
        if (error instanceof FileError) throw new CommandError(`write error: ${error.message}`);
        throw error;
      }
    },
  };
}
