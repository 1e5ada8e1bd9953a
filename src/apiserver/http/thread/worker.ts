// What runs in the thread of the secure port.

import type { MessagePort } from 'node:worker_threads';
import type { Logger, LogLevel, LogValues } from '../../../machinery/log.ts';
import { Listener } from '../listener.ts';
import { Forwarder } from './forwarder.ts';
import { type FromThread, sentError, type ToThread } from './messages.ts';

/** Once, in a thread of ListenerThread. `parent`: its port to the thread that made it. */
export function runListener(parent: MessagePort): void {
  const tell = (message: FromThread, transfer: Parameters<MessagePort['postMessage']>[1] = []): void => {
    parent.postMessage(message, transfer as never);
  };
  const forwarder = new Forwarder(tell);
  const logger = toldLogger(tell);
  let listener: Listener | undefined;
  parent.on('message', (message: ToThread) => {
    switch (message.kind) {
      case 'batch':
        forwarder.receive(message.batch);
        return;
      case 'listen':
        listener = new Listener({ ...message.address, acceptor: forwarder, logger });
        listener.start().then(
          (port) => tell({ kind: 'listening', port }),
          (error: unknown) => tell({ kind: 'failed', error: sentError(error) }),
        );
        return;
      case 'stop':
        void Promise.resolve(listener?.stop()).then(() => tell({ kind: 'stopped' }));
        return;
      case 'abort':
        listener?.abort();
    }
  });
}

/** The main thread's logger writes. */
function toldLogger(tell: (message: FromThread) => void): Logger {
  const at =
    (level: LogLevel) =>
    (message: string, values?: LogValues): void =>
      tell({ kind: 'log', level, message, error: values?.['err'] === undefined ? undefined : sentError(values['err']) });
  const logger: Logger = { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug'), with: () => logger };
  return logger;
}
