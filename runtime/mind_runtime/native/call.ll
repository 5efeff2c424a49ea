; A call of a program from Python: its arguments checked, its results made, its code run, without a step in Python.
;
; The vectorcall of the type of programs. Whatever is not the usual case (a wrong type, strides, keywords other than `out`, memory
; that is not there) is handed to the method `_slowly`, which means the same; a failure of native code to `failed`, which raises.
; @PLAN is where an instance has the address of its %plan, which `callable.py` fills in; at @OWNER is the object whose plan it is,
; which is held during a call and raises its failures; at @CALLS how often the plan ran. Offsets into an array are NumPy's.

@slowly = internal constant [8 x i8] c"_slowly\00"
@failed = internal constant [7 x i8] c"failed\00"
@format = internal constant [3 x i8] c"LK\00"
@mind_out = external global i8

declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Clear()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyObject_GetAttrString(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallMethod(ptr, ptr, ptr, ...)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @PyDataMem_SetHandler(ptr)

; A new array, of our own allocator's memory where it is large; null if there is none.
define internal ptr @new_array(ptr %spec, i64 %large) nounwind {
entry:
  %dtype = load ptr, ptr %spec
  %rank.at = getelementptr %spec, ptr %spec, i64 0, i32 1
  %rank = load i64, ptr %rank.at
  %rank32 = trunc i64 %rank to i32
  %dims.at = getelementptr %spec, ptr %spec, i64 0, i32 2
  %dims = load ptr, ptr %dims.at
  %bytes.at = getelementptr %spec, ptr %spec, i64 0, i32 5
  %bytes = load i64, ptr %bytes.at
  %own = icmp uge i64 %bytes, %large
  br i1 %own, label %set, label %make
set:
  %capsule = load ptr, ptr @handler
  %before = call ptr @PyDataMem_SetHandler(ptr %capsule)
  %unset = icmp eq ptr %before, null
  br i1 %unset, label %nothing, label %make
make:
  %handler = phi ptr [ null, %entry ], [ %before, %set ]
  call void @Py_IncRef(ptr %dtype)
  %array = call ptr @PyArray_NewFromDescr(ptr @PyArray_Type, ptr %dtype, i32 %rank32, ptr %dims, ptr null, ptr null, i32 0, ptr null)
  br i1 %own, label %restore, label %done
restore:
  %ours = call ptr @PyDataMem_SetHandler(ptr %handler)
  call void @Py_DecRef(ptr %handler)
  %lost = icmp eq ptr %ours, null
  br i1 %lost, label %done, label %drop
drop:
  call void @Py_DecRef(ptr %ours)
  br label %done
done:
  ret ptr %array
nothing:
  ret ptr null
}

; The results: new arrays, and the donated ones; whether there was memory for all. If not, none is held.
define internal i1 @make_results(ptr %plan, ptr %args, ptr %table, ptr %results, i64 %m) nounwind {
entry:
  %specs.at = getelementptr %plan, ptr %plan, i64 0, i32 9
  %specs = load ptr, ptr %specs.at
  %large.at = getelementptr %plan, ptr %plan, i64 0, i32 14
  %large = load i64, ptr %large.at
  br label %result
result:
  %k = phi i64 [ 0, %entry ], [ %next, %put ]
  %ended = icmp eq i64 %k, %m
  br i1 %ended, label %yes, label %look
look:
  %spec = getelementptr %spec, ptr %specs, i64 %k
  %from.at = getelementptr %spec, ptr %spec, i64 0, i32 6
  %from = load i64, ptr %from.at
  %is.new = icmp slt i64 %from, 0
  br i1 %is.new, label %make, label %donated
donated:
  %argument.at = getelementptr ptr, ptr %args, i64 %from
  %argument = load ptr, ptr %argument.at
  call void @Py_IncRef(ptr %argument)
  br label %put
make:
  %array = call ptr @new_array(ptr %spec, i64 %large)
  %none = icmp eq ptr %array, null
  br i1 %none, label %no, label %put
put:
  %x = phi ptr [ %argument, %donated ], [ %array, %make ]
  %result.at = getelementptr ptr, ptr %results, i64 %k
  store ptr %x, ptr %result.at
  %data.at = getelementptr i8, ptr %x, i64 16
  %data = load ptr, ptr %data.at
  %place.at = getelementptr %spec, ptr %spec, i64 0, i32 4
  %place = load i64, ptr %place.at
  %entry.at = getelementptr ptr, ptr %table, i64 %place
  store ptr %data, ptr %entry.at
  %next = add i64 %k, 1
  br label %result
yes:
  ret i1 1
no:
  call void @drop_results(ptr %results, i64 %k)
  ret i1 0
}

define internal void @hold_results(ptr %results, i64 %m) nounwind {
entry:
  br label %result
result:
  %k = phi i64 [ 0, %entry ], [ %next, %hold ]
  %ended = icmp eq i64 %k, %m
  br i1 %ended, label %done, label %hold
hold:
  %at = getelementptr ptr, ptr %results, i64 %k
  %x = load ptr, ptr %at
  call void @Py_IncRef(ptr %x)
  %next = add i64 %k, 1
  br label %result
done:
  ret void
}

define internal void @drop_results(ptr %results, i64 %m) nounwind {
entry:
  br label %result
result:
  %k = phi i64 [ 0, %entry ], [ %next, %drop ]
  %ended = icmp eq i64 %k, %m
  br i1 %ended, label %done, label %drop
drop:
  %at = getelementptr ptr, ptr %results, i64 %k
  %x = load ptr, ptr %at
  call void @Py_DecRef(ptr %x)
  %next = add i64 %k, 1
  br label %result
done:
  ret void
}

; One result as it is, several as a tuple.
define internal ptr @as_python(ptr %results, i64 %m) nounwind {
entry:
  %one = icmp eq i64 %m, 1
  br i1 %one, label %single, label %several
single:
  %x = load ptr, ptr %results
  ret ptr %x
several:
  %tuple = call ptr @PyTuple_New(i64 %m)
  %none = icmp eq ptr %tuple, null
  br i1 %none, label %nothing, label %result
result:
  %k = phi i64 [ 0, %several ], [ %next, %set ]
  %ended = icmp eq i64 %k, %m
  br i1 %ended, label %done, label %set
set:
  %at = getelementptr ptr, ptr %results, i64 %k
  %item = load ptr, ptr %at
  %ignored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %k, ptr %item)
  %next = add i64 %k, 1
  br label %result
done:
  ret ptr %tuple
nothing:
  call void @drop_results(ptr %results, i64 %m)
  ret ptr null
}

; The arena of the plan, which nobody else has then, or another; null if there is no memory for it.
define internal ptr @take_arena(ptr %plan, i64 %bytes) nounwind {
entry:
  %free.at = getelementptr %plan, ptr %plan, i64 0, i32 6
  %old = atomicrmw xchg ptr %free.at, ptr null acquire
  %none = icmp eq ptr %old, null
  br i1 %none, label %make, label %found
found:
  ret ptr %old
make:
  %new = call ptr @mind_malloc(ptr null, i64 %bytes)
  ret ptr %new
}

define internal void @give_arena(ptr %plan, ptr %arena) nounwind {
entry:
  %free.at = getelementptr %plan, ptr %plan, i64 0, i32 6
  %other = atomicrmw xchg ptr %free.at, ptr %arena release
  call void @mind_free(ptr null, ptr %other, i64 0)
  ret void
}

; Run the entry on the table, with an arena, other threads running where that is worth it; its status, the least number without memory.
define internal i64 @run(ptr %plan, ptr %table) nounwind {
entry:
  %code = load ptr, ptr %plan
  %bytes.at = getelementptr %plan, ptr %plan, i64 0, i32 5
  %bytes = load i64, ptr %bytes.at
  %needs = icmp ne i64 %bytes, 0
  br i1 %needs, label %take, label %begin
take:
  %arena = call ptr @take_arena(ptr %plan, i64 %bytes)
  %none = icmp eq ptr %arena, null
  br i1 %none, label %nothing, label %put
put:
  %arena.at = getelementptr ptr, ptr %table, i64 1
  store ptr %arena, ptr %arena.at
  br label %begin
begin:
  %release.at = getelementptr %plan, ptr %plan, i64 0, i32 7
  %release = load i64, ptr %release.at
  %long = icmp ne i64 %release, 0
  br i1 %long, label %others, label %alone
others:
  %thread = call ptr @PyEval_SaveThread()
  %status.long = call i64 %code(ptr %table)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %ran
alone:
  %status.short = call i64 %code(ptr %table)
  br label %ran
ran:
  %status = phi i64 [ %status.long, %others ], [ %status.short, %alone ]
  br i1 %needs, label %give, label %done
give:
  %used.at = getelementptr ptr, ptr %table, i64 1
  %used = load ptr, ptr %used.at
  call void @give_arena(ptr %plan, ptr %used)
  br label %done
done:
  ret i64 %status
nothing:
  ret i64 -9223372036854775808
}

; The call in Python, on the same arguments.
define internal ptr @in_python(ptr %self, ptr %args, i64 %count, ptr %names) nounwind {
entry:
  %method = call ptr @PyObject_GetAttrString(ptr %self, ptr @slowly)
  %none = icmp eq ptr %method, null
  br i1 %none, label %nothing, label %go
go:
  %n = and i64 %count, 9223372036854775807
  %found = call ptr @PyObject_Vectorcall(ptr %method, ptr %args, i64 %n, ptr %names)
  call void @Py_DecRef(ptr %method)
  ret ptr %found
nothing:
  ret ptr null
}

; The array, or the tuple, given as `out`, if that is the only keyword and the plan takes it; else null.
define internal ptr @given(ptr %plan, ptr %args, i64 %n, ptr %names) nounwind {
entry:
  %takes.at = getelementptr %plan, ptr %plan, i64 0, i32 11
  %takes = load i64, ptr %takes.at
  %size = call i64 @PyTuple_Size(ptr %names)
  %may = icmp ne i64 %takes, 0
  %single = icmp eq i64 %size, 1
  %both = and i1 %may, %single
  br i1 %both, label %ask, label %no
ask:
  %name = call ptr @PyTuple_GetItem(ptr %names, i64 0)
  %out = icmp eq ptr %name, @mind_out
  br i1 %out, label %yes, label %no
yes:
  %at = getelementptr ptr, ptr %args, i64 %n
  %x = load ptr, ptr %at
  ret ptr %x
no:
  ret ptr null
}

define ptr @mind_call(ptr %self, ptr %args, i64 %count, ptr %names) nounwind {
entry:
  %plan.at = getelementptr i8, ptr %self, i64 @PLAN
  %plan = load ptr, ptr %plan.at
  %n = and i64 %count, 9223372036854775807
  %unplanned = icmp eq ptr %plan, null
  br i1 %unplanned, label %slow, label %planned
planned:
  %inputs.at = getelementptr %plan, ptr %plan, i64 0, i32 1
  %inputs = load i64, ptr %inputs.at
  %right = icmp eq i64 %n, %inputs
  br i1 %right, label %keywords, label %slow
keywords:
  %plain = icmp eq ptr %names, null
  br i1 %plain, label %prepare, label %keyword
keyword:
  %out = call ptr @given(ptr %plan, ptr %args, i64 %n, ptr %names)
  %other = icmp eq ptr %out, null
  br i1 %other, label %slow, label %prepare
prepare:
  %into = phi ptr [ null, %keywords ], [ %out, %keyword ]
  %outputs.at = getelementptr %plan, ptr %plan, i64 0, i32 2
  %m = load i64, ptr %outputs.at
  %words.at = getelementptr %plan, ptr %plan, i64 0, i32 3
  %words = load i64, ptr %words.at
  %table = alloca ptr, i64 %words, align 64
  %template.at = getelementptr %plan, ptr %plan, i64 0, i32 4
  %template = load ptr, ptr %template.at
  %bytes = shl i64 %words, 3
  %copied = call ptr @memcpy(ptr %table, ptr %template, i64 %bytes)
  %record.at = getelementptr %plan, ptr %plan, i64 0, i32 15
  %record.word = load i64, ptr %record.at
  %record = getelementptr ptr, ptr %table, i64 %record.word
  %data = alloca ptr, i64 %n
  %results = alloca ptr, i64 %m
  %fit = call i1 @take_arguments(ptr %plan, ptr %args, i64 %n, ptr %table, ptr %data)
  br i1 %fit, label %room, label %slow
room:
  %fresh = icmp eq ptr %into, null
  br i1 %fresh, label %make, label %take
take:
  %taken = call i1 @take_results(ptr %plan, ptr %into, i64 %n, ptr %data, ptr %table, ptr %results, i64 %m)
  br i1 %taken, label %hold, label %slow
hold:
  call void @hold_results(ptr %results, i64 %m)
  br label %go
make:
  %made = call i1 @make_results(ptr %plan, ptr %args, ptr %table, ptr %results, i64 %m)
  br i1 %made, label %go, label %without
go:
  store ptr %record, ptr %table
  %owner.at = getelementptr i8, ptr %self, i64 @OWNER
  %owner = load ptr, ptr %owner.at
  call void @Py_IncRef(ptr %owner)
  %calls.at = getelementptr i8, ptr %self, i64 @CALLS
  %calls = load i64, ptr %calls.at
  %calls.more = add i64 %calls, 1
  store i64 %calls.more, ptr %calls.at
  %status = call i64 @run(ptr %plan, ptr %table)
  switch i64 %status, label %failure [ i64 0, label %done
                                       i64 -9223372036854775808, label %starved ]
done:
  %found = call ptr @as_python(ptr %results, i64 %m)
  call void @Py_DecRef(ptr %owner)
  ret ptr %found
starved:
  call void @drop_results(ptr %results, i64 %m)
  call void @Py_DecRef(ptr %owner)
  br label %without
without:
  call void @PyErr_Clear()
  br label %slow
slow:
  %python = call ptr @in_python(ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %python
failure:
  call void @drop_results(ptr %results, i64 %m)
  %raised = call ptr (ptr, ptr, ptr, ...) @PyObject_CallMethod(ptr %owner, ptr @failed, ptr @format, i64 %status, ptr %record)
  call void @Py_DecRef(ptr %owner)
  ret ptr %raised
}
