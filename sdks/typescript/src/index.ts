export {
  type CacheMode,
  type CassetteMode,
  connect,
  McpServer,
  type ServerOptions,
} from "./client.js";
export { type CallOptions, COPROCESS_PROTOCOL_VERSION } from "./coprocess.js";
export {
  BinaryError,
  ClosedError,
  ContractError,
  type ErrorKind,
  type FaultKind,
  McptestError,
  RefusedError,
  SuiteTestError,
  TimeoutError,
  UpstreamError,
  UpstreamGoneError,
  VersionError,
} from "./errors.js";
export {
  laneCliHint,
  openSuite,
  Suite,
  type SuiteList,
  type SuiteTest,
  type SuiteVerdict,
  UNSUPPORTED_SDK_LANES,
} from "./suite.js";
export { type Verdict } from "./verdict.js";
