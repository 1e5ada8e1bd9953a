// Reads a container's termination message: the content of its termination log or, if it failed and
// wrote none, the end of its log. The container chooses the path of the first file, and may put any
// kind of file there through a volume, so both are untrusted.

import type { ContainerStatus } from '#cri/index.ts';
import { readEndUntrusted } from '#machinery/files/untrusted.ts';
import type { ContainerAnnotations } from '../runtime/labels.ts';
import { parseLogLine } from './cri-log.ts';

const MAX_MESSAGE_BYTES = 4096;
const MAX_FALLBACK_BYTES = 2048;
const MAX_FALLBACK_LINES = 80;

export async function readTerminationMessage(
  status: ContainerStatus,
  annotations: ContainerAnnotations,
): Promise<string> {
  const path = status.mounts.find(
    (mount) => mount.containerPath === annotations.terminationMessagePath,
  )?.hostPath;
  if (annotations.terminationMessagePath !== '' && path !== undefined && path !== '') {
    try {
      const message = (await readEndUntrusted(path, MAX_MESSAGE_BYTES)).toString('utf8');
      if (message !== '') return message;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') return `Error on reading termination log ${path}: ${message}`;
    }
  }
  if (
    annotations.terminationMessagePolicy !== 'FallbackToLogsOnError' ||
    status.exitCode === 0 ||
    status.logPath === ''
  )
    return '';
  return await readLogEnd(status.logPath);
}

async function readLogEnd(path: string): Promise<string> {
  try {
    // The overhead of an entry is about fifty bytes.
    const data = await readEndUntrusted(path, MAX_FALLBACK_BYTES + MAX_FALLBACK_LINES * 64);
    const lines: string[] = [];
    for (const line of data.toString('utf8').split('\n')) {
      const entry = parseLogLine(Buffer.from(line));
      if (entry !== undefined)
        lines.push(entry.content.toString('utf8') + (entry.partial ? '' : '\n'));
    }
    const text = lines.slice(-MAX_FALLBACK_LINES).join('');
    return Buffer.from(text).subarray(-MAX_FALLBACK_BYTES).toString('utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    return `Error on reading termination message from logs: ${(error as Error).message}`;
  }
}
