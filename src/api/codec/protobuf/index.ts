// API objects in protobuf, Kubernetes' binary encoding.

export { decodeMessage } from './decode.ts';
export { encodeMessage } from './encode.ts';
export { decodeProtobuf, encodeProtobuf, type Envelope, isProtobuf, openEnvelope, PROTOBUF_CONTENT_TYPE } from './envelope.ts';
export { ProtobufError } from './wire.ts';
