"""What a program of `forked_tools` is: it hands over all that it was given, and ends as it is told. It imports nothing slow."""

import _socket
import marshal
import posix
import sys

if __name__ == "__main__":
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    server.connect(sys.argv[1])
    data = marshal.dumps((sys.argv[2:], posix.getcwd(), posix.environ))
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    server.sendmsg([len(data).to_bytes(8, "little")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    server.sendall(data)
    status = server.recv(1)
    posix._exit(status[0] if status else 70)
