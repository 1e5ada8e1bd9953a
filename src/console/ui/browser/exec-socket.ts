// A WebSocket with Kubernetes' remote command protocol, version 5: the first byte of a message is
// its channel.

export interface ExecHandlers {
  onOpen(): void;
  onOutput(bytes: Uint8Array): void;
  /** The command has ended, or the connection has. */
  onEnd(message: string): void;
}

export interface ExecSocket {
  send(text: string): void;
  resize(columns: number, rows: number): void;
  close(): void;
}

const STDIN = 0;
const ERROR = 3;
const RESIZE = 4;

/** Opens a session at a path of the page's own server. */
export function openExec(path: string, handlers: ExecHandlers): ExecSocket {
  const url = new URL(path, location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url, ['v5.channel.k8s.io']);
  socket.binaryType = 'arraybuffer';
  const encoder = new TextEncoder();
  let ended = '';
  socket.addEventListener('open', () => handlers.onOpen());
  socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (!(data instanceof ArrayBuffer)) return;
    const bytes = new Uint8Array(data);
    const content = bytes.subarray(1);
    if (bytes[0] === ERROR) ended = endOf(new TextDecoder().decode(content));
    else if (content.length > 0) handlers.onOutput(content);
  });
  socket.addEventListener('close', ({ code, reason }) => {
    handlers.onEnd(
      ended !== '' ? ended : reason !== '' ? reason : `the connection has ended (${code})`,
    );
  });
  const send = (channel: number, text: string): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const content = encoder.encode(text);
    const message = new Uint8Array(content.length + 1);
    message[0] = channel;
    message.set(content, 1);
    socket.send(message);
  };
  return {
    send: (text) => send(STDIN, text),
    resize: (columns, rows) => send(RESIZE, JSON.stringify({ Width: columns, Height: rows })),
    close: () => socket.close(),
  };
}

/** Returns the words of the Status with which a session ends. */
function endOf(text: string): string {
  try {
    const { status, message } = JSON.parse(text) as { status?: string; message?: string };
    return status === 'Success' ? 'the command has ended' : (message ?? text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
