using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.ComponentModel;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;
using System.Threading;
using System.Threading.Tasks;

[assembly: InternalsVisibleTo("Mcptest.Conformance")]
[assembly: InternalsVisibleTo("Mcptest.Sdk.Tests")]

namespace Mcptest
{
    /// <summary>
    /// One mcptest binary: started, past its handshake, then one line out and one line in at a time.
    /// docs/coprocess.md of the mcptest repository is the contract.
    /// </summary>
    /// <remarks>
    /// Pipes are read and written by background threads, so that a binary that does not read cannot
    /// block a call, and a program that forgets to close a connection still ends. The end of the
    /// program is the end of the binary's input, and with it of the binary and its server.
    /// </remarks>
    internal sealed class Coprocess : IAsyncDisposable
    {
        public const int CoprocessProtocolVersion = 2;
        public const string SdkName = "dotnet";
        public const string Handshake = "coprocess/handshake";

        // What is not the params of a request is shorter than 1024 bytes.
        private const int MaxRequestBytes = 64 * 1024 * 1024;
        // An answer of the server, and a little around it.
        private const int MaxLineBytes = (64 * 1024 * 1024) + (64 * 1024);

        private static readonly TimeSpan HandshakeLimit = TimeSpan.FromSeconds(10);
        private static readonly TimeSpan RequestLimit = TimeSpan.FromSeconds(60);
        private static readonly TimeSpan ShutdownLimit = TimeSpan.FromSeconds(10);
        // How long the pipes of a binary that has ended, or the process behind closed pipes, may stay.
        private static readonly TimeSpan EndingLimit = TimeSpan.FromMilliseconds(500);
        // The longest time of a Timer.
        private static readonly TimeSpan TimerLimit = TimeSpan.FromDays(49);

        private readonly Process _process;
        private readonly TimeSpan _timeout;
        private readonly Action<string> _warn;
        private readonly BlockingCollection<byte[]> _outgoing = new BlockingCollection<byte[]>();
        private readonly StderrTail _stderr = new StderrTail();
        private readonly Thread _stderrReader;
        private readonly TaskCompletionSource<bool> _over =
            new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);

        // Guards everything below.
        private readonly object _gate = new object();
        private readonly LinkedList<Request> _waiting = new LinkedList<Request>();
        private readonly Line _line = new Line();
        private Request? _current;
        private long _lastId;
        // Why the binary cannot be used any more; every later request fails with it.
        private Func<string, McptestException>? _broken;
        private bool _isClosed;
        private bool _isOver;
        private int? _exitCode;
        private Task? _closing;

        private Coprocess(Process process, TimeSpan timeout, Action<string>? warn)
        {
            _process = process;
            _timeout = timeout;
            _warn = warn ?? Messages.WriteWarning;
            // Taken here: the process may be disposed of before a thread has begun.
            var (input, output, errors) =
                (process.StandardInput.BaseStream, process.StandardOutput.BaseStream, process.StandardError.BaseStream);
            StartThread(() => WriteInput(input));
            _stderrReader = StartThread(() => ReadErrors(errors));
            StartThread(() => ReadOutput(output));
            // The output may be held open by a process that the binary has left behind.
            process.Exited += (sender, e) => Task.Delay(EndingLimit).ContinueWith(_ => Finish(), TaskScheduler.Default);
            process.EnableRaisingEvents = true;
        }

        /// <summary>The version of the binary.</summary>
        public string BinaryVersion { get; private set; } = "";

        /// <summary>Whether no request waits for its answer.</summary>
        public bool IsIdle
        {
            get
            {
                lock (_gate)
                {
                    return _current == null;
                }
            }
        }

        /// <summary>Start <c>mcptest exec</c> with these arguments, and perform the handshake.</summary>
        public static async Task<Coprocess> StartAsync(
            IEnumerable<string> arguments,
            TimeSpan? timeout = null,
            (string Name, string Value)? variable = null,
            Action<string>? warn = null,
            CancellationToken cancellationToken = default)
        {
            cancellationToken.ThrowIfCancellationRequested();
            var process = StartBinary(arguments, variable);
            var coprocess = new Coprocess(process, timeout ?? RequestLimit, warn);
            try
            {
                await coprocess.PerformHandshakeAsync(cancellationToken).ConfigureAwait(false);
            }
            catch
            {
                await coprocess.DisposeAsync().ConfigureAwait(false);
                throw;
            }
            return coprocess;
        }

        /// <summary>
        /// The result of a request, whose params are JSON already; a <see cref="McptestException"/> if there is none.
        /// Requests are sent one at a time, in the order in which they were made.
        /// </summary>
        public async Task<JsonElement> RequestAsync(
            string method, string? parameters = null, TimeSpan? limit = null, CancellationToken cancellationToken = default)
        {
            cancellationToken.ThrowIfCancellationRequested();
            var size = Encoding.UTF8.GetByteCount(parameters ?? "");
            if (size > MaxRequestBytes - 1024)
            {
                throw new ArgumentException($"{method} was not sent: its params have {size} bytes, and a request has up to {MaxRequestBytes}");
            }
            var request = new Request(method, parameters, limit ?? _timeout);
            lock (_gate)
            {
                _waiting.AddLast(request);
                SendNext();
            }
            using (cancellationToken.Register(() => Cancel(request, cancellationToken)))
            {
                return await request.Answer.Task.ConfigureAwait(false);
            }
        }

        /// <summary>Shut the binary and its server down. Calls that wait for their answer fail.</summary>
        public ValueTask DisposeAsync()
        {
            lock (_gate)
            {
                if (_closing == null)
                {
                    var isIdle = BeginClosing();
                    // Without the gate: warnings go to code of the user.
                    _closing = Task.Run(() => CloseAsync(isIdle));
                }
                return new ValueTask(_closing);
            }
        }

        /// <summary>Stop a binary whose answer shows that it is of another release.</summary>
        public McptestException Fail(McptestException error)
        {
            lock (_gate)
            {
                Stop(_ => error);
            }
            return error;
        }

        // Starting

        private static Process StartBinary(IEnumerable<string> arguments, (string Name, string Value)? variable)
        {
            var command = Words.FindBinary();
            var words = command.Skip(1).Append("exec").Concat(arguments).ToList();
            var program = command.Count == 0 ? "" : command[0];
            if (words.Append(variable?.Value ?? "").Any(word => word.Contains('\0')))
            {
                throw new ArgumentException("no word of a command can contain the character NUL");
            }
            var reason = program.Contains('/') ? "there is no such file" : "it is not on the PATH";
            foreach (var file in Words.FindProgram(program))
            {
                var start = new ProcessStartInfo(file)
                {
                    UseShellExecute = false,
                    CreateNoWindow = true,
                    RedirectStandardInput = true,
                    RedirectStandardOutput = true,
                    RedirectStandardError = true,
                };
                words.ForEach(start.ArgumentList.Add);
                if (variable is { } one)
                {
                    start.Environment[one.Name] = one.Value;
                }
                var process = new Process { StartInfo = start };
                try
                {
                    process.Start();
                    return process;
                }
                catch (Win32Exception error)
                {
                    process.Dispose();
                    if (error.NativeErrorCode == 7)
                    {
                        throw new ArgumentException("the command and the environment of the server are longer than the system allows");
                    }
                    reason = DescribeStart(error.NativeErrorCode);
                }
            }
            throw new BinaryException(
                $"the mcptest binary cannot be started: {Messages.Quote(program)}: {reason}. Install mcptest, or set MCPTEST_BIN to it.");
        }

        private static string DescribeStart(int code)
        {
            return code switch
            {
                2 => "there is no such file",
                13 => "it is not an executable file",
                _ => new Win32Exception(code).Message,
            };
        }

        private async Task PerformHandshakeAsync(CancellationToken cancellationToken)
        {
            var version = typeof(Coprocess).Assembly.GetName().Version?.ToString(3) ?? "0";
            var parameters = Json.BuildObject(
                ("protocol_version", $"{CoprocessProtocolVersion}"),
                ("sdk", Json.Write(SdkName, "sdk")),
                ("sdk_version", Json.Write(version, "sdk_version")));
            JsonElement result;
            try
            {
                result = await RequestAsync(Handshake, parameters, HandshakeLimit, cancellationToken).ConfigureAwait(false);
            }
            catch (RefusedException error)
            {
                throw Fail(error.Code switch
                {
                    -32601 => Messages.BuildMismatch("coprocess", 1, CoprocessProtocolVersion),
                    -32602 => new VersionException(Messages.MakeVisible(error.RawMessage)),
                    _ => (McptestException)new ContractException(
                        $"the mcptest binary refused the handshake: {error.Message} (code {error.Code})"),
                });
            }
            var theirs = Json.Get(result, "protocol_version");
            if (Json.IsInteger(theirs) && theirs.GetInt64() != CoprocessProtocolVersion)
            {
                throw Fail(Messages.BuildMismatch("coprocess", theirs.GetInt64(), CoprocessProtocolVersion));
            }
            if (!Json.IsInteger(theirs) || Json.GetString(result, "binary_version") == null || result.EnumerateObject().Count() != 2)
            {
                throw Fail(Messages.BuildDrift($"the handshake was answered with {Messages.Quote(result)}"));
            }
            BinaryVersion = Json.GetString(result, "binary_version") ?? "";
        }

        // Sending. From here on, callers hold the gate unless it is said otherwise.

        private void SendNext()
        {
            while (_current == null && _waiting.First != null)
            {
                var request = _waiting.First.Value;
                _waiting.RemoveFirst();
                if (_isClosed)
                {
                    request.Fail(new ClosedException($"the connection is closed, so {request.Method} was not sent"));
                }
                else if (_broken != null)
                {
                    request.Fail(_broken(request.Method));
                }
                else
                {
                    _current = request;
                    var limit = request.Limit < TimerLimit ? request.Limit : TimerLimit;
                    request.Timer = new Timer(_ => TimeOut(request), null, limit, Timeout.InfiniteTimeSpan);
                    _outgoing.Add(request.Encode(++_lastId));
                }
            }
        }

        private Request? TakeCurrent()
        {
            var request = _current;
            _current = null;
            request?.Timer?.Dispose();
            return request;
        }

        /// <summary>Called by a timer, without the gate.</summary>
        private void TimeOut(Request request)
        {
            lock (_gate)
            {
                if (_current == request)
                {
                    Stop(_ => Messages.BuildOverdue(request.Method, request.Limit));
                }
            }
        }

        /// <summary>Called by a cancellation token, without the gate.</summary>
        private void Cancel(Request request, CancellationToken cancellationToken)
        {
            lock (_gate)
            {
                if (_current == request)
                {
                    TakeCurrent();
                    Stop(method => new ClosedException(
                        $"{request.Method} was cancelled, which closed the connection, so {method} was not sent"));
                }
                _waiting.Remove(request);
                request.Answer.TrySetCanceled(cancellationToken);
            }
        }

        // Reading

        private void ReadChunk(ReadOnlyMemory<byte> chunk)
        {
            while (chunk.Length > 0 && _broken == null)
            {
                var end = chunk.Span.IndexOf((byte)'\n');
                var piece = end < 0 ? chunk : chunk.Slice(0, end);
                chunk = end < 0 ? default : chunk.Slice(end + 1);
                if (_line.Length + piece.Length > MaxLineBytes)
                {
                    var beginning = Messages.Quote(_line.Beginning);
                    _line.Clear();
                    Refuse(method => new ContractException(
                        $"the mcptest binary answered {method} with a line of more than {MaxLineBytes} bytes; it begins with {beginning}"));
                }
                else if (end < 0)
                {
                    _line.Add(piece.Span);
                }
                else
                {
                    ReadLine(_line.Length == 0 ? piece : _line.Take(piece));
                }
            }
        }

        private void ReadLine(ReadOnlyMemory<byte> line)
        {
            // After a shutdown only its answer can come.
            if (_isClosed || line.Span.Trim(new byte[] { 32, 9, 13 }).Length == 0)
            {
                return;
            }
            if (_current == null)
            {
                var early = Messages.Quote(line.Span);
                Stop(method => Messages.BuildDrift($"before {method} was sent, there came {early}"));
                return;
            }
            var parsed = Json.Parse(line);
            if (!(parsed is { ValueKind: JsonValueKind.Object } value))
            {
                var shown = Messages.Quote(line.Span);
                Refuse(method => new ContractException(
                    $"the mcptest binary answered {method} with a line that is not a response: {shown}; "
                    + "is MCPTEST_BIN the mcptest binary, and does nothing else write to its stdout?"));
                return;
            }
            var problem = FindProblem(value);
            if (problem.Length > 0)
            {
                Refuse(method => Messages.BuildDrift($"the answer to {method} {problem}"));
                return;
            }
            // The next request is sent when the whole chunk is read: a second answer in it is to none.
            var request = TakeCurrent();
            var error = Json.Get(value, "error");
            if (error.ValueKind == JsonValueKind.Undefined)
            {
                request?.Answer.TrySetResult(Json.Get(value, "result"));
                return;
            }
            var details = Json.Get(error, "data");
            request?.Fail(Messages.BuildRefusal(
                Json.Get(error, "code").GetInt64(),
                Json.GetString(error, "message") ?? "",
                details.ValueKind == JsonValueKind.Undefined ? Json.Null : details));
        }

        /// <summary>What is wrong with a response, as the end of a sentence; "" if nothing is.</summary>
        private string FindProblem(JsonElement value)
        {
            var surplus = FindSurplus(value, "jsonrpc", "id", "result", "error");
            if (surplus != null)
            {
                return $"has an unknown member {Messages.Quote(surplus)}";
            }
            var error = Json.Get(value, "error");
            var hasError = error.ValueKind != JsonValueKind.Undefined;
            var hasResult = Json.Get(value, "result").ValueKind != JsonValueKind.Undefined;
            if (Json.GetString(value, "jsonrpc") != "2.0" || hasError == hasResult)
            {
                return $"is not a response: {Messages.Quote(value)}";
            }
            var id = Json.Get(value, "id");
            if (hasError)
            {
                var message = Json.GetString(error, "message");
                if (message == null || !Json.IsInteger(Json.Get(error, "code")) || FindSurplus(error, "code", "message", "data") != null)
                {
                    return $"has an invalid error: {Messages.Quote(value)}";
                }
                if (id.ValueKind == JsonValueKind.Null)
                {
                    return $"says that the request could not be read: {Messages.Quote(message)}";
                }
            }
            return Json.IsInteger(id) && id.GetInt64() == _lastId ? "" : $"has another id: {Messages.Quote(id)}";
        }

        private static string? FindSurplus(JsonElement value, params string[] members)
        {
            return value.EnumerateObject().Select(Json.GetName).FirstOrDefault(name => !members.Contains(name));
        }

        /// <summary>Stop the binary because of its answer to the current request.</summary>
        private void Refuse(Func<string, McptestException> build)
        {
            var asked = _current?.Method;
            Stop(method => build(asked ?? method));
        }

        // Ending

        /// <summary>Kill the binary; the current request and all later ones fail with this error.</summary>
        private void Stop(Func<string, McptestException> why)
        {
            if (_broken != null || _isOver)
            {
                return;
            }
            _broken = why;
            Kill();
            var request = TakeCurrent();
            request?.Fail(why(request.Method));
            SendNext();
        }

        /// <summary>Kill the binary, its server, and the wrapper that the binary may have been started by.</summary>
        private void Kill()
        {
            try
            {
                _process.Kill(entireProcessTree: true);
            }
            catch (Exception error) when (error is InvalidOperationException || error is Win32Exception || error is AggregateException)
            {
                // It has just ended, or a process of it.
            }
            // The writer closes the input.
            _outgoing.CompleteAdding();
        }

        /// <summary>The binary has ended, or has closed its output. Called without the gate.</summary>
        private void Finish()
        {
            lock (_gate)
            {
                if (_isOver)
                {
                    return;
                }
                _exitCode = _process.HasExited ? _process.ExitCode : (int?)null;
                var how = DescribeEnd();
                var half = _line.Length > 0 ? $", in the middle of a line: {Messages.Quote(_line.Beginning)}" : "";
                var said = _stderr.Text;
                var words = said.Length > 0 ? $"; its last words: {said}" : "";
                var isMistake = _exitCode == 2 && said.Length > 0;
                if (!_isClosed)
                {
                    Refuse(method => new BinaryException(isMistake && method == Handshake
                        ? $"{Messages.DescribeMistake(said)} (the mcptest binary ended before it answered {method}: {how})"
                        : $"the mcptest binary ended before it answered {method}: {how}{half}{words}"));
                }
                _isOver = true;
            }
            _over.TrySetResult(true);
        }

        private string DescribeEnd()
        {
            if (!(_exitCode is { } code))
            {
                return "it closed its output, and did not exit";
            }
            // .NET does not tell a signal from the status that a shell would make of it.
            var names = new Dictionary<int, string> { [129] = "SIGHUP", [130] = "SIGINT", [134] = "SIGABRT", [137] = "SIGKILL", [139] = "SIGSEGV", [143] = "SIGTERM" };
            return names.TryGetValue(code, out var name) ? $"exit status {code} ({name})" : $"exit status {code}";
        }

        /// <summary>Whether the binary was asked to end; otherwise it was stopped.</summary>
        private bool BeginClosing()
        {
            var isIdle = _broken == null && _current == null;
            if (isIdle)
            {
                _outgoing.Add(new Request("mcp.shutdown", null, ShutdownLimit).Encode(++_lastId));
                _outgoing.CompleteAdding();
            }
            else
            {
                Stop(method => new ClosedException($"the connection was closed before {method} was answered"));
            }
            _isClosed = true;
            return isIdle;
        }

        /// <summary>Called once, without the gate.</summary>
        private async Task CloseAsync(bool isIdle)
        {
            await WaitUntilOverAsync(isIdle ? ShutdownLimit : EndingLimit).ConfigureAwait(false);
            var hasEnded = _over.Task.IsCompleted;
            if (!hasEnded)
            {
                Kill();
                await WaitUntilOverAsync(EndingLimit).ConfigureAwait(false);
            }
            foreach (var warning in _stderr.Warnings)
            {
                _warn(warning);
            }
            if (isIdle && !hasEnded)
            {
                _warn("the mcptest binary did not end, and was killed");
            }
            else if (isIdle && _exitCode != 0)
            {
                _warn($"the mcptest binary ended with {DescribeEnd()}");
            }
        }

        private Task WaitUntilOverAsync(TimeSpan limit) => Task.WhenAny(_over.Task, Task.Delay(limit));

        // The threads

        private static Thread StartThread(ThreadStart work)
        {
            var thread = new Thread(work) { IsBackground = true, Name = "mcptest" };
            thread.Start();
            return thread;
        }

        private void WriteInput(Stream stream)
        {
            try
            {
                using var input = stream;
                foreach (var line in _outgoing.GetConsumingEnumerable())
                {
                    input.Write(line, 0, line.Length);
                    input.Flush();
                }
            }
            catch (IOException)
            {
                // How the binary ended is reported when it has; a write that failed says less.
            }
        }

        private void ReadOutput(Stream output)
        {
            ReadAll(output, chunk =>
            {
                lock (_gate)
                {
                    try
                    {
                        ReadChunk(chunk);
                    }
                    catch (Exception error)
                    {
                        // Lack of memory, for example; leaving a thread, it would end the program.
                        Refuse(method => new ContractException($"the answer to {method} cannot be read: {error.Message}"));
                    }
                    SendNext();
                    return _broken == null && !_isOver;
                }
            });
            _process.WaitForExit((int)EndingLimit.TotalMilliseconds);
            _stderrReader.Join(EndingLimit);
            Finish();
            lock (_gate)
            {
                _process.Dispose();
            }
        }

        private void ReadErrors(Stream errors)
        {
            ReadAll(errors, chunk =>
            {
                _stderr.Add(chunk.Span);
                lock (_gate)
                {
                    return !_isOver;
                }
            });
        }

        /// <summary>Read to the end, or until nothing more is wanted: a process that was left behind may go on writing.</summary>
        private static void ReadAll(Stream stream, Func<ReadOnlyMemory<byte>, bool> read)
        {
            var buffer = new byte[64 * 1024];
            try
            {
                using var open = stream;
                int count;
                do
                {
                    count = stream.Read(buffer, 0, buffer.Length);
                }
                while (count > 0 && read(buffer.AsMemory(0, count)));
            }
            catch (IOException)
            {
                // The same as its end.
            }
        }

        /// <summary>A request that waits for its turn, or for its answer.</summary>
        private sealed class Request
        {
            private readonly string? _parameters;

            public Request(string method, string? parameters, TimeSpan limit)
            {
                Method = method;
                _parameters = parameters;
                Limit = limit;
            }

            public string Method { get; }

            public TimeSpan Limit { get; }

            public Timer? Timer { get; set; }

            public TaskCompletionSource<JsonElement> Answer { get; } =
                new TaskCompletionSource<JsonElement>(TaskCreationOptions.RunContinuationsAsynchronously);

            public void Fail(McptestException error) => Answer.TrySetException(error);

            public byte[] Encode(long id)
            {
                var parameters = _parameters == null ? "" : $",\"params\":{_parameters}";
                return Encoding.UTF8.GetBytes($"{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{Json.Write(Method, "method")}{parameters}}}\n");
            }
        }

        /// <summary>A line that has not ended yet, in blocks: it may come byte by byte.</summary>
        private sealed class Line
        {
            private const int BlockSize = 64 * 1024;

            private readonly List<byte[]> _blocks = new List<byte[]>();

            public int Length { get; private set; }

            public ReadOnlySpan<byte> Beginning => Length == 0 ? default : _blocks[0].AsSpan(0, Math.Min(Length, BlockSize));

            public void Add(ReadOnlySpan<byte> piece)
            {
                while (piece.Length > 0)
                {
                    var at = Length % BlockSize;
                    if (at == 0)
                    {
                        _blocks.Add(new byte[BlockSize]);
                    }
                    var count = Math.Min(piece.Length, BlockSize - at);
                    piece.Slice(0, count).CopyTo(_blocks[_blocks.Count - 1].AsSpan(at));
                    piece = piece.Slice(count);
                    Length += count;
                }
            }

            public ReadOnlyMemory<byte> Take(ReadOnlyMemory<byte> last)
            {
                Add(last.Span);
                var whole = new byte[Length];
                for (var n = 0; n < _blocks.Count; n++)
                {
                    Array.Copy(_blocks[n], 0, whole, n * BlockSize, Math.Min(BlockSize, Length - (n * BlockSize)));
                }
                Clear();
                return whole;
            }

            public void Clear()
            {
                _blocks.Clear();
                Length = 0;
            }
        }

        /// <summary>The end of what the binary wrote to stderr, and all warnings in it.</summary>
        private sealed class StderrTail
        {
            private const int MaxBytes = 4096;
            private const int MaxWarnings = 100;
            private const string Warning = "warning: ";

            private readonly object _gate = new object();
            private readonly List<string> _warnings = new List<string>();
            private readonly byte[] _tail = new byte[MaxBytes];
            private int _tailLength;
            private bool _isCut;
            // The beginning of the last line.
            private readonly byte[] _line = new byte[MaxBytes];
            private int _lineLength;

            public string Text
            {
                get
                {
                    lock (_gate)
                    {
                        var said = Encoding.UTF8.GetString(_tail, 0, _tailLength).Trim().Replace("\r\n", "\n");
                        var text = Messages.MakeVisible(said, keepNewlines: true);
                        return _isCut ? $"…{text}" : text;
                    }
                }
            }

            public IReadOnlyList<string> Warnings
            {
                get
                {
                    lock (_gate)
                    {
                        return _warnings.ToArray();
                    }
                }
            }

            public void Add(ReadOnlySpan<byte> chunk)
            {
                lock (_gate)
                {
                    KeepEnd(chunk);
                    for (int end; (end = chunk.IndexOf((byte)'\n')) >= 0; chunk = chunk.Slice(end + 1))
                    {
                        AddToLine(chunk.Slice(0, end));
                        EndLine();
                    }
                    AddToLine(chunk);
                }
            }

            private void KeepEnd(ReadOnlySpan<byte> chunk)
            {
                _isCut |= _tailLength + chunk.Length > MaxBytes;
                chunk = chunk.Slice(Math.Max(0, chunk.Length - MaxBytes));
                var kept = Math.Min(_tailLength, MaxBytes - chunk.Length);
                Array.Copy(_tail, _tailLength - kept, _tail, 0, kept);
                chunk.CopyTo(_tail.AsSpan(kept));
                _tailLength = kept + chunk.Length;
            }

            private void AddToLine(ReadOnlySpan<byte> piece)
            {
                piece = piece.Slice(0, Math.Min(piece.Length, MaxBytes - _lineLength));
                piece.CopyTo(_line.AsSpan(_lineLength));
                _lineLength += piece.Length;
            }

            private void EndLine()
            {
                // Most lines are none, and there may be gigabytes of them.
                if (_lineLength > 0 && _line[0] == Warning[0] && _warnings.Count < MaxWarnings)
                {
                    var line = Encoding.UTF8.GetString(_line, 0, _lineLength).TrimEnd('\r');
                    if (line.StartsWith(Warning, StringComparison.Ordinal))
                    {
                        _warnings.Add(Messages.MakeVisible(line.Substring(Warning.Length)));
                    }
                }
                _lineLength = 0;
            }
        }
    }
}
