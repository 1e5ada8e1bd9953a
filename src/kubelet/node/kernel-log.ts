// Reads the messages of the kernel from /dev/kmsg, without ever waiting for one.

import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** The kernel's limit for one record. */
const RECORD_BYTES = 8192;
/** More records stay for the next call. */
const MAX_RECORDS = 2000;

export class KernelLog {
  readonly #file: FileHandle;

  /** Opens the log. Rejects if this process may not read it. */
  static async open(path = '/dev/kmsg'): Promise<KernelLog> {
    return new KernelLog(await open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  }

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Returns the messages since the last call; the first call returns all that the kernel has. */
  async read(): Promise<readonly string[]> {
    const messages: string[] = [];
    const buffer = Buffer.alloc(RECORD_BYTES);
    while (messages.length < MAX_RECORDS) {
      let bytesRead: number;
      try {
        ({ bytesRead } = await this.#file.read(buffer, 0, buffer.length, null));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EAGAIN') break;
        // Records were overwritten before they were read: the next one is the oldest that is left.
        if (code === 'EPIPE') continue;
        throw error;
      }
      if (bytesRead === 0) break;
      messages.push(messageOf(buffer.toString('utf8', 0, bytesRead)));
    }
    return messages;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** Returns the text of a record 'PRIORITY,NUMBER,TIME,FLAGS;TEXT', without its continuation lines. */
function messageOf(record: string): string {
  const text = record.slice(record.indexOf(';') + 1);
  const end = text.indexOf('\n');
  return end < 0 ? text : text.slice(0, end);
}
