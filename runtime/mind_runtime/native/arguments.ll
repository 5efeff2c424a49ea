; What is given to a call, held against what its plan says: arguments, arrays for results, who shares memory with whom.

; What an argument or a result must be, and the entry of its address in the table. `flags` are NumPy's. `alone`: of an argument,
; whether it may share no memory with others; of a result, the argument whose array it is, or -1.
%spec = type { ptr, i64, ptr, i64, i64, i64, i64 }                    ; dtype, rank, dims, flags, place, bytes, alone
%range = type { i64, i64 }                                            ; addresses of bound arrays: from, to
%plan = type { ptr, i64, i64, i64, ptr, i64, ptr, i64, ptr, ptr, i64, i64, i64, ptr, i64, i64 }
; 0 entry, 1 inputs, 2 outputs, 3 words of the table and of the record behind it, 4 what they begin as, 5 bytes of the arena,
; 6 the arena while nobody uses it, 7 whether to let other threads run, 8 specs of inputs, 9 of outputs, 10 how many inputs are
; alone, 11 whether results may be given, 12 how many ranges, 13 the ranges, 14 the bytes from which on a result is made by our
; allocator, 15 where the record begins

@PyArray_Type = external global i8
@PyTuple_Type = external global i8
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)

; The address of the elements of an object that is a plain array as the spec says; else null.
define internal ptr @fitting(ptr %x, ptr %spec) nounwind {
entry:
  %type.at = getelementptr i8, ptr %x, i64 8
  %type = load ptr, ptr %type.at
  %plain = icmp eq ptr %type, @PyArray_Type
  br i1 %plain, label %array, label %other
array:
  %want.dtype = load ptr, ptr %spec
  %rank.at = getelementptr %spec, ptr %spec, i64 0, i32 1
  %want.rank = load i64, ptr %rank.at
  %flags.at = getelementptr %spec, ptr %spec, i64 0, i32 3
  %want.flags = load i64, ptr %flags.at
  %x.dtype.at = getelementptr i8, ptr %x, i64 56
  %dtype = load ptr, ptr %x.dtype.at
  %x.rank.at = getelementptr i8, ptr %x, i64 24
  %rank32 = load i32, ptr %x.rank.at
  %rank = zext i32 %rank32 to i64
  %x.flags.at = getelementptr i8, ptr %x, i64 64
  %flags32 = load i32, ptr %x.flags.at
  %flags = zext i32 %flags32 to i64
  %same.dtype = icmp eq ptr %dtype, %want.dtype
  %same.rank = icmp eq i64 %rank, %want.rank
  %has.flags = and i64 %flags, %want.flags
  %same.flags = icmp eq i64 %has.flags, %want.flags
  %both = and i1 %same.dtype, %same.rank
  %alike = and i1 %both, %same.flags
  br i1 %alike, label %shape, label %other
shape:
  %dims.at = getelementptr %spec, ptr %spec, i64 0, i32 2
  %want.dims = load ptr, ptr %dims.at
  %x.dims.at = getelementptr i8, ptr %x, i64 32
  %dims = load ptr, ptr %x.dims.at
  br label %axis
axis:
  %i = phi i64 [ 0, %shape ], [ %next, %size ]
  %ended = icmp eq i64 %i, %rank
  br i1 %ended, label %found, label %size
size:
  %want.at = getelementptr i64, ptr %want.dims, i64 %i
  %want = load i64, ptr %want.at
  %have.at = getelementptr i64, ptr %dims, i64 %i
  %have = load i64, ptr %have.at
  %next = add i64 %i, 1
  %equal = icmp eq i64 %want, %have
  br i1 %equal, label %axis, label %other
found:
  %data.at = getelementptr i8, ptr %x, i64 16
  %data = load ptr, ptr %data.at
  ret ptr %data
other:
  ret ptr null
}

; Whether the bytes from %begin to %end are none of those of %count arrays, the one of number %but apart, nor of the bound ones.
define internal i1 @apart(ptr %plan, i64 %begin, i64 %end, ptr %specs, ptr %data, i64 %count, i64 %but) nounwind {
entry:
  br label %array
array:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %ended = icmp eq i64 %i, %count
  br i1 %ended, label %bound, label %look
look:
  %at = getelementptr i64, ptr %data, i64 %i
  %low = load i64, ptr %at
  %bytes.at = getelementptr %spec, ptr %specs, i64 %i, i32 5
  %bytes = load i64, ptr %bytes.at
  %high = add i64 %low, %bytes
  %a = icmp ult i64 %low, %end
  %b = icmp ult i64 %begin, %high
  %c = icmp ne i64 %i, %but
  %ab = and i1 %a, %b
  %meet = and i1 %ab, %c
  br i1 %meet, label %shared, label %on
on:
  %next = add i64 %i, 1
  br label %array
bound:
  %ranges.at = getelementptr %plan, ptr %plan, i64 0, i32 12
  %ranges = load i64, ptr %ranges.at
  %range.at = getelementptr %plan, ptr %plan, i64 0, i32 13
  %range = load ptr, ptr %range.at
  br label %other
other:
  %j = phi i64 [ 0, %bound ], [ %j.next, %compare ]
  %all = icmp eq i64 %j, %ranges
  br i1 %all, label %alone, label %compare
compare:
  %from.at = getelementptr %range, ptr %range, i64 %j, i32 0
  %from = load i64, ptr %from.at
  %to.at = getelementptr %range, ptr %range, i64 %j, i32 1
  %to = load i64, ptr %to.at
  %d = icmp ult i64 %from, %end
  %e = icmp ult i64 %begin, %to
  %meets = and i1 %d, %e
  %j.next = add i64 %j, 1
  br i1 %meets, label %shared, label %other
alone:
  ret i1 1
shared:
  ret i1 0
}

; The addresses of the arguments into the table and into %data; whether all are as they must be.
define internal i1 @take_arguments(ptr %plan, ptr %args, i64 %n, ptr %table, ptr %data) nounwind {
entry:
  %specs.at = getelementptr %plan, ptr %plan, i64 0, i32 8
  %specs = load ptr, ptr %specs.at
  br label %argument
argument:
  %i = phi i64 [ 0, %entry ], [ %next, %right ]
  %ended = icmp eq i64 %i, %n
  br i1 %ended, label %sharing, label %look
look:
  %x.at = getelementptr ptr, ptr %args, i64 %i
  %x = load ptr, ptr %x.at
  %spec = getelementptr %spec, ptr %specs, i64 %i
  %address = call ptr @fitting(ptr %x, ptr %spec)
  %wrong = icmp eq ptr %address, null
  br i1 %wrong, label %no, label %right
right:
  %place.at = getelementptr %spec, ptr %spec, i64 0, i32 4
  %place = load i64, ptr %place.at
  %entry.at = getelementptr ptr, ptr %table, i64 %place
  store ptr %address, ptr %entry.at
  %data.at = getelementptr ptr, ptr %data, i64 %i
  store ptr %address, ptr %data.at
  %next = add i64 %i, 1
  br label %argument
sharing:
  %alone.at = getelementptr %plan, ptr %plan, i64 0, i32 10
  %alone = load i64, ptr %alone.at
  %none = icmp eq i64 %alone, 0
  br i1 %none, label %yes, label %donated
donated:
  %j = phi i64 [ 0, %sharing ], [ %j.next, %following ]
  %j.ended = icmp eq i64 %j, %n
  br i1 %j.ended, label %yes, label %is.donated
is.donated:
  %j.alone.at = getelementptr %spec, ptr %specs, i64 %j, i32 6
  %j.alone = load i64, ptr %j.alone.at
  %j.any = icmp eq i64 %j.alone, 0
  br i1 %j.any, label %following, label %check
check:
  %begin.at = getelementptr i64, ptr %data, i64 %j
  %begin = load i64, ptr %begin.at
  %bytes.at = getelementptr %spec, ptr %specs, i64 %j, i32 5
  %bytes = load i64, ptr %bytes.at
  %end = add i64 %begin, %bytes
  %apart = call i1 @apart(ptr %plan, i64 %begin, i64 %end, ptr %specs, ptr %data, i64 %n, i64 %j)
  br i1 %apart, label %following, label %no
following:
  %j.next = add i64 %j, 1
  br label %donated
yes:
  ret i1 1
no:
  ret i1 0
}

; The arrays given for results, and their addresses; whether all are as they must be. They are not held yet.
define internal i1 @take_results(ptr %plan, ptr %given, i64 %n, ptr %data, ptr %table, ptr %results, i64 %m) nounwind {
entry:
  %inputs.at = getelementptr %plan, ptr %plan, i64 0, i32 8
  %inputs = load ptr, ptr %inputs.at
  %specs.at = getelementptr %plan, ptr %plan, i64 0, i32 9
  %specs = load ptr, ptr %specs.at
  %made = alloca ptr, i64 %m
  %one = icmp eq i64 %m, 1
  br i1 %one, label %result, label %several
several:
  %type.at = getelementptr i8, ptr %given, i64 8
  %type = load ptr, ptr %type.at
  %tuple = icmp eq ptr %type, @PyTuple_Type
  br i1 %tuple, label %count, label %no
count:
  %size = call i64 @PyTuple_Size(ptr %given)
  %right.size = icmp eq i64 %size, %m
  br i1 %right.size, label %result, label %no
result:
  %k = phi i64 [ 0, %entry ], [ 0, %count ], [ %next, %put ]
  %ended = icmp eq i64 %k, %m
  br i1 %ended, label %yes, label %pick
pick:
  br i1 %one, label %look, label %item
item:
  %member = call ptr @PyTuple_GetItem(ptr %given, i64 %k)
  br label %look
look:
  %x = phi ptr [ %given, %pick ], [ %member, %item ]
  %spec = getelementptr %spec, ptr %specs, i64 %k
  %address = call ptr @fitting(ptr %x, ptr %spec)
  %wrong = icmp eq ptr %address, null
  br i1 %wrong, label %no, label %right
right:
  %bytes.at = getelementptr %spec, ptr %spec, i64 0, i32 5
  %bytes = load i64, ptr %bytes.at
  %begin = ptrtoint ptr %address to i64
  %end = add i64 %begin, %bytes
  %free = call i1 @apart(ptr %plan, i64 %begin, i64 %end, ptr %inputs, ptr %data, i64 %n, i64 -1)
  %own = call i1 @apart(ptr %plan, i64 %begin, i64 %end, ptr %specs, ptr %made, i64 %k, i64 -1)
  %alone = and i1 %free, %own
  br i1 %alone, label %put, label %no
put:
  %made.at = getelementptr ptr, ptr %made, i64 %k
  store ptr %address, ptr %made.at
  %place.at = getelementptr %spec, ptr %spec, i64 0, i32 4
  %place = load i64, ptr %place.at
  %entry.at = getelementptr ptr, ptr %table, i64 %place
  store ptr %address, ptr %entry.at
  %result.at = getelementptr ptr, ptr %results, i64 %k
  store ptr %x, ptr %result.at
  %next = add i64 %k, 1
  br label %result
yes:
  ret i1 1
no:
  ret i1 0
}
